"""fuzz-seeds.py TESTS OUT: the modules of all tests, as inputs of mpt-autocast-fuzz:
one byte that chooses options, and the text."""

import hashlib
import pathlib
import re
import sys


def main():
    tests, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(tests.rglob("*.mlir")):
        for part in re.split(r"^// -----.*$|^//--- .*$", path.read_text(), flags=re.M):
            lines = [line for line in part.splitlines()
                     if line.strip() and not line.lstrip().startswith("//")]
            text = "\n".join(lines).encode() + b"\n"
            if len(lines) < 2 or len(text) > 16000:
                continue
            name = hashlib.sha1(text).hexdigest()
            for choice in (int(name[:2], 16) & 0x1F, int(name[2:4], 16) | 0xF0):
                (out / f"{name}-{choice:02x}").write_bytes(bytes([choice]) + text)


if __name__ == "__main__":
    main()
