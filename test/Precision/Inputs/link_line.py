"""Prints the libraries of MPT that a program gets with MPT::NAME, and each that uses
symbols of mpt::rt, the program format and the runtime: link_line.py BUILD LLVM_BIN NAME
"""
import os
import re
import subprocess
import sys

build, tools, name = sys.argv[1:]
with open(os.path.join(build, "lib", "cmake", "MPT", "MPTTargets.cmake")) as file:
    text = file.read()
links = {target: re.findall(r"[\w:./-]+", re.sub(r"\$<LINK_ONLY:([^>]*)>", r"\1", libraries))
         for target, libraries in
         re.findall(r'set_target_properties\((MPT::\w+) PROPERTIES[^)]*?INTERFACE_LINK_LIBRARIES "([^"]*)"', text)}
places = dict(re.findall(r'set_target_properties\((MPT::\w+) PROPERTIES[^)]*?IMPORTED_LOCATION\w* "([^"]*)"', text))
assert places, "MPTTargets.cmake is not as CMake writes it"
pending, seen = ["MPT::" + name], []
while pending:
    library = pending.pop(0)
    if library not in seen:
        seen.append(library)
        pending += links.get(library, [])
for library in seen:
    print(library)
for library in seen:
    if library not in places or not places[library].endswith(".a"):
        continue
    symbols = subprocess.run([os.path.join(tools, "llvm-nm"), "--undefined-only", "--demangle", places[library]],
                             capture_output=True, text=True, check=True).stdout
    if "mpt::rt::" in symbols:
        print(library[5:], "needs mpt::rt::")
