"""Indices outside their table: the step goes on inside its memory, and the first
call after it that waits for the device says which index was wrong, and where. So does
every further call.

  check_faults.py LIB_DIR CUDA.so
"""
import ctypes
import sys

import standin_step
from standin_step import Step, encode

lib_dir, path = sys.argv[1:]
standin_step.load(lib_dir)


def attempt(name, values):
    """The error of the first read after a good and a bad run."""
    step = Step(path, True)
    for tensor in step.tensors:
        if tensor.role == b"input":
            count = tensor.bytes // {b"f32": 4, b"i32": 4, b"i64": 8}[tensor.type]
            step.give(tensor, encode(tensor.type.decode(), [1] * count))
    step.run()
    step.read()
    bad = next(t for t in step.tensors if t.name.decode() == name)
    step.give(bad, encode(bad.type.decode(), values))
    step.run()
    output = next(t for t in step.tensors if t.role == b"output")
    buffer = ctypes.create_string_buffer(output.bytes)
    errors = set()
    for _ in range(2):
        assert standin_step.runtime.mpt_rt_read_output(
            step.rt, output.name, buffer, ctypes.c_size_t(output.bytes))
        errors.add(standin_step.runtime.mpt_rt_last_error(step.rt).decode())
        assert standin_step.runtime.mpt_rt_run(step.rt)
        errors.add(standin_step.runtime.mpt_rt_last_error(step.rt).decode())
    standin_step.runtime.mpt_rt_destroy(step.rt)
    (error,) = errors
    print("%s: %s" % (name, error))


attempt("rows", [1, 2, 99, 4, -7, 3])
attempt("rows", [1, 2, 3, 4, 2 ** 40, 3])
attempt("classes", [0, 1, -2, 10])
attempt("updates", [0, 5, 4, 5])
assert standin_step.standin.mpt_standin_breach() == b"", standin_step.standin.mpt_standin_breach()
