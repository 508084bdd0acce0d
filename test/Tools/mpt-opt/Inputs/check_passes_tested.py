"""Reads `mpt-opt --help` and lists MPT's passes and pipelines that no FileCheck test of the
IR below the folder given runs."""

import pathlib
import re
import sys

# Six columns: options of mpt-opt itself have two, those of a pass eight.
passes = re.findall(r"^ {6}--(mpt-[a-z0-9-]+)", sys.stdin.read(), re.MULTILINE)
tested = set()
for file in pathlib.Path(sys.argv[1]).rglob("*.mlir"):
    commands = [line for line in file.read_text().splitlines() if "RUN:" in line]
    if any("FileCheck" in command for command in commands):
        tested.update(re.findall(r"mpt-[a-z0-9-]+", " ".join(commands)))
missing = [name for name in passes if name not in tested]
for name in missing:
    print(name + ": no .mlir test runs it with FileCheck")
print("%d passes, %d without a test" % (len(passes), len(missing)))
sys.exit(1 if missing or not passes else 0)
