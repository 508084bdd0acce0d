"""Opens a program that was cut short or damaged in many ways: each is refused with one
line that begins with its path.

  damage_program.py LIB_DIR PROGRAM.so FOLDER [SEED]
"""
import ctypes
import os
import random
import sys

lib_dir, path, folder = sys.argv[1:4]
random.seed(int(sys.argv[4]) if len(sys.argv) > 4 else 7)
libraries = [ctypes.CDLL(os.path.join(lib_dir, name))
             for name in ("libMPTRuntime.so", "libMPTRuntimeCuda.so")]
for library in libraries:
    library.mpt_rt_create.restype = ctypes.c_void_p
    library.mpt_rt_last_error.restype = ctypes.c_char_p
with open(path, "rb") as file:
    whole = file.read()


def attempt(library, data):
    """The message of opening `data`; "" if it opens."""
    name = os.path.join(folder, "damaged.so")
    with open(name, "wb") as file:
        file.write(data)
    context = ctypes.c_void_p(library.mpt_rt_create(1))
    status = library.mpt_rt_open(context, name.encode())
    message = library.mpt_rt_last_error(context).decode()
    library.mpt_rt_destroy(context)
    if status:
        assert status == 2 and message.startswith(name + ": ") and "\n" not in message, message
        return message[len(name) + 2:]
    return ""


for library in libraries:
    for i in range(60):
        length = len(whole) * i // 60
        assert attempt(library, whole[:length]), length
    # Where pages, headers and the last byte end.
    for length in (1, 63, 64, 4095, 4096, 8192, len(whole) - 1):
        if length >= len(whole):
            continue
        assert attempt(library, whole[:length]), length
    for bit in random.sample(range(8 * len(whole)), 80):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        assert attempt(library, bytes(data)), bit
    other = bytearray(whole)
    other[18] = 183
    print(attempt(library, bytes(other)))
    other[18] = 62
    assert bytes(other) == whole
print(attempt(libraries[0], whole) or "the whole program opens")
