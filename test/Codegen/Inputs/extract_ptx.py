"""Prints the PTX in a module's gpu.binary: the string after `assembly =`."""
import re
import sys

text = sys.stdin.read()
found = re.search(r'assembly = "((?:[^"\\]|\\.)*)"', text)
if not found:
    sys.exit("no assembly in the input")
ptx = re.sub(r"\\([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), found[1])
sys.stdout.write(ptx.rstrip("\0"))
