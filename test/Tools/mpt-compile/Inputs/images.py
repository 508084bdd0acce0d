"""Prints the device code in a program for GPUs: images.py STEP.so"""
import ctypes
import os
import re
import struct
import sys


class Image(ctypes.Structure):
    _fields_ = [("architecture", ctypes.c_uint64), ("is_ptx", ctypes.c_uint64),
                ("data", ctypes.c_void_p), ("size", ctypes.c_uint64),
                ("is_specific", ctypes.c_uint64)]


class Cuda(ctypes.Structure):
    _fields_ = [("kernels", ctypes.c_void_p), ("images", ctypes.POINTER(Image)),
                ("num_images", ctypes.c_uint64)]


class Program(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint64), ("version", ctypes.c_uint64),
                ("table", ctypes.c_void_p), ("table_size", ctypes.c_uint64),
                ("kernels", ctypes.c_void_p), ("num_kernels", ctypes.c_uint64),
                ("cuda", ctypes.POINTER(Cuda))]


library = ctypes.CDLL(os.path.abspath(sys.argv[1]))
cuda = Program.in_dll(library, "mpt_program").cuda.contents
for i in range(cuda.num_images):
    image = cuda.images[i]
    data = ctypes.string_at(image.data, image.size)
    if image.is_ptx:
        what = "PTX " + re.search(rb"\.target sm_\w+", data).group().decode()
    else:
        # EM_CUDA is 190.
        assert data[:4] == b"\x7fELF", data[:16]
        what = "ELF machine %d" % struct.unpack_from("<H", data, 18)
    print("sm_%d %s" % (image.architecture, what))
