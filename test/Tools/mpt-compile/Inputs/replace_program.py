"""Replaces the file of a program that is open, in every way that a build does, and opens
it again: both contexts run what their file held when they opened it.

  replace_program.py LIB_DIR OLD.so NEW.so FOLDER
"""
import ctypes
import os
import shutil
import struct
import sys

lib_dir, old, new, folder = sys.argv[1:]
library = ctypes.CDLL(os.path.join(lib_dir, "libMPTRuntime.so"))
library.mpt_rt_create.restype = ctypes.c_void_p
library.mpt_rt_last_error.restype = ctypes.c_char_p
path = os.path.join(folder, "replaced.so")


class Context:
    def __init__(self):
        self.rt = ctypes.c_void_p(library.mpt_rt_create(1))
        self.check(library.mpt_rt_open(self.rt, path.encode()))

    def check(self, status):
        assert not status, library.mpt_rt_last_error(self.rt)

    def run(self):
        x, y = struct.pack("<f", 3), ctypes.create_string_buffer(4)
        size = ctypes.c_size_t(4)
        self.check(library.mpt_rt_bind(self.rt, b"x", x, size))
        self.check(library.mpt_rt_run(self.rt))
        self.check(library.mpt_rt_read_output(self.rt, b"y", y, size))
        return struct.unpack("<f", y.raw)[0]

    def close(self):
        library.mpt_rt_destroy(self.rt)


def rename():
    shutil.copy(new, path + ".tmp")
    os.rename(path + ".tmp", path)


def overwrite():
    with open(new, "rb") as source, open(path, "r+b") as target:
        target.truncate(0)
        target.write(source.read())


def remove_and_copy():
    os.remove(path)
    shutil.copy(new, path)


for replace in (rename, overwrite, remove_and_copy):
    shutil.copy(old, path)
    first = Context()
    replace()
    second = Context()
    print(replace.__name__, first.run(), second.run(), first.run())
    # The number of a closed file is used again.
    first.close()
    shutil.copy(old, path)
    third = Context()
    print(second.run(), third.run())
    second.close()
    third.close()
before = len(os.listdir("/proc/self/fd"))
for _ in range(5):
    Context().close()
assert len(os.listdir("/proc/self/fd")) == before
