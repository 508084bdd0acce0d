"""Data of the character GPT: make_data.py FOLDER [--context 64].

The source of Python's standard library as characters: printable ASCII is 0 to
94, everything else 95. Windows of `context` characters, x.npy, and the
characters that follow, y.npy; a tenth is held out as test_x.npy, test_y.npy.
"""

import argparse
import array
import os
import struct
import sysconfig

# Modules that every Python 3 ships, about a megabyte.
MODULES = ["argparse.py", "ast.py", "calendar.py", "configparser.py", "csv.py",
           "dataclasses.py", "datetime.py", "decimal.py", "difflib.py", "dis.py",
           "doctest.py", "fractions.py", "functools.py", "heapq.py", "inspect.py",
           "ipaddress.py", "locale.py", "mailbox.py", "optparse.py", "pathlib.py",
           "pdb.py", "pickle.py", "platform.py", "random.py", "shutil.py",
           "statistics.py", "subprocess.py", "tarfile.py", "tempfile.py",
           "textwrap.py", "threading.py", "traceback.py", "typing.py", "uuid.py",
           "zipfile.py"]


def write_npy(path, rows):
    """An int32 .npy of shape [rows, length]."""
    shape = (len(rows), len(rows[0]))
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        for row in rows:
            file.write(array.array("i", row).tobytes())


def read_text():
    library = sysconfig.get_paths()["stdlib"]
    text = []
    for module in MODULES:
        path = os.path.join(library, module)
        if os.path.exists(path):
            with open(path, "rb") as file:
                text.append(file.read())
    return [c - 32 if 32 <= c < 127 else 95 for c in b"\n".join(text)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--context", type=int, default=64)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    codes, t = read_text(), options.context
    starts = range(0, len(codes) - t - 1, t)
    x = [codes[i : i + t] for i in starts]
    y = [codes[i + 1 : i + t + 1] for i in starts]
    # Held out: the end of the text.
    cut = len(x) - len(x) // 10
    for name, part in (("", slice(0, cut)), ("test_", slice(cut, None))):
        write_npy(os.path.join(options.folder, name + "x.npy"), x[part])
        write_npy(os.path.join(options.folder, name + "y.npy"), y[part])


if __name__ == "__main__":
    main()
