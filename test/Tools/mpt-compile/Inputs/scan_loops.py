"""Scans of odd kinds as loops of the program and unrolled.

  scan_loops.py WORK_DIRECTORY RUNTIME

Each network trains for three steps in both forms, as compiled programs, and has the same
losses and parameters, bit by bit; with matmuls moved out of the loops, but for rounding. The
kinds: carried values that change places, that are
stacked before they change, that begin with the same value or with constants, that are a
slice; slices of constants, of results of another scan and of another scan's slices; values
that are not carried at all; and slices of 24 bytes.
"""

import ctypes
import os
import subprocess
import sys

import numpy as np

work, library = sys.argv[1:]
os.makedirs(work, exist_ok=True)
os.chdir(work)
rng = np.random.default_rng(1)
H = "tensor<4x8xf32>"


def S(T):
    return f"tensor<{T}x4x8xf32>"


def matmul(name, x, w):
    return f"%{name} = mpt.matmul %{x}, %{w} : ({H}, tensor<8x8xf32>) -> {H}\n"


def binary(name, op, x, y):
    return f"%{name} = mpt.{op} %{x}, %{y} : ({H}, {H}) -> {H}\n"


def unary(name, op, x):
    return f"%{name} = mpt.{op} %{x} : ({H}) -> {H}\n"


def model(T, reverse, body, inits, over, types, extra=""):
    """The sum of the sines of the sums of all results."""
    text = f'''
func.func @loss(
    %w: tensor<8x8xf32> {{mpt.name = "w", mpt.role = "parameter", mpt.init = {{kind = "normal", mean = 0.0, std = 0.3}}}},
    %a: {H} {{mpt.name = "a", mpt.role = "input"}}, %b: {H} {{mpt.name = "b", mpt.role = "input"}},
    %x: {S(T)} {{mpt.name = "x", mpt.role = "input"}}) -> (tensor<f32> {{mpt.name = "loss"}}) {{
  %z = mpt.constant dense<0.0> : {H}
  %k = mpt.constant dense<0.25> : {H}
  %kk = mpt.constant dense<0.5> : {S(T)}
  %u = mpt.constant dense<0.0> : tensor<f32>
  {extra}
  %r:{len(types)} = mpt.scan {T} {"reverse" if reverse else ""} {inits} {over} {{
  {body}
  }} : {", ".join(types)}
'''
    total = "%u"
    for i, type in enumerate(types):
        axes = ", ".join(map(str, range(type.count("x"))))
        text += f'''  %s{i} = mpt.reduce %r#{i} {{kind = #mpt.reduce_kind<sum>, axes = array<i64: {axes}>}} : ({type}) -> tensor<f32>
  %t{i} = mpt.sin %s{i} : (tensor<f32>) -> tensor<f32>
  %u{i} = mpt.add %t{i}, {total} : (tensor<f32>, tensor<f32>) -> tensor<f32>
'''
        total = f"%u{i}"
    return text + f"  return {total} : tensor<f32>\n}}\n"


def makeCases(T):
    stack = S(T)
    yield "places", dict(inits=f"carry(%a, %b : {H}, {H})", over=f"over(%x : {stack})", types=[H, H, stack],
                         body=f"^bb0(%p: {H}, %q: {H}, %e: {H}):\n" + binary("n", "add", "p", "e")
                         + f"mpt.yield %q, %n, %p : {H}, {H}, {H}")
    yield "swap", dict(inits=f"carry(%a, %b : {H}, {H})", over="", types=[H, H, stack, stack],
                       body=f"^bb0(%p: {H}, %q: {H}):\nmpt.yield %q, %p, %p, %q : {H}, {H}, {H}, {H}")
    yield "before", dict(inits=f"carry(%z : {H})", over=f"over(%x : {stack})", types=[H, stack, stack, stack],
                         body=f"^bb0(%c: {H}, %e: {H}):\n" + binary("n", "add", "c", "e")
                         + f"mpt.yield %n, %c, %n, %n : {H}, {H}, {H}, {H}")
    yield "same_init", dict(inits=f"carry(%a, %a, %k : {H}, {H}, {H})", over=f"over(%x, %x : {stack}, {stack})",
                            types=[H, H, H, stack],
                            body=f"^bb0(%p: {H}, %q: {H}, %c: {H}, %e: {H}, %g: {H}):\n" + matmul("m", "p", "w")
                            + unary("t", "tanh", "m") + binary("n", "sub", "q", "e") + binary("o", "mul", "c", "g")
                            + binary("y", "add", "o", "a") + f"mpt.yield %t, %n, %o, %y : {H}, {H}, {H}, {H}")
    yield "slice_is_carried", dict(inits=f"carry(%a : {H})", over=f"over(%x : {stack})", types=[H, stack],
                                   body=f"^bb0(%p: {H}, %e: {H}):\n" + binary("n", "mul", "p", "e")
                                   + f"mpt.yield %e, %n : {H}, {H}")
    yield "constants", dict(inits=f"carry(%a : {H})", over=f"over(%kk : {stack})", types=[H, stack],
                            body=f"^bb0(%p: {H}, %e: {H}):\n" + matmul("m", "p", "w") + binary("n", "add", "m", "e")
                            + f"mpt.yield %n, %k : {H}, {H}")
    yield "unchanged", dict(inits=f"carry(%a, %b : {H}, {H})", over=f"over(%x : {stack})", types=[H, H, stack],
                            body=f"^bb0(%p: {H}, %q: {H}, %e: {H}):\n" + binary("n", "add", "p", "q")
                            + binary("m", "add", "n", "e") + f"mpt.yield %m, %q, %q : {H}, {H}, {H}")
    yield "no_carry", dict(inits="", over=f"over(%x : {stack})", types=[stack],
                           body=f"^bb0(%e: {H}):\n" + matmul("m", "e", "w") + unary("t", "sin", "m")
                           + f"mpt.yield %t : {H}")
    yield "chain", dict(extra=f"%pre = mpt.scan {T} over(%x : {stack}) {{\n^bb0(%e: {H}):\n" + unary("t", "exp", "e")
                        + f"mpt.yield %t : {H}\n}} : {stack}", types=[H, stack],
                        inits=f"carry(%a : {H})", over=f"over(%pre, %x : {stack}, {stack})",
                        body=f"^bb0(%p: {H}, %e: {H}, %g: {H}):\n" + matmul("m", "p", "w") + binary("n", "mul", "m", "g")
                        + unary("t", "tanh", "n") + binary("o", "add", "t", "e") + f"mpt.yield %t, %o : {H}, {H}")
    inner = (f"%i:2 = mpt.scan 3 reverse carry(%p : {H}) over(%d : {S(3)}) {{\n^bb0(%ip: {H}, %ie: {H}):\n"
             + matmul("im", "ip", "w") + binary("in", "add", "im", "ie") + unary("it", "tanh", "in")
             + binary("io", "mul", "it", "e") + f"mpt.yield %it, %io : {H}, {H}\n}} : {H}, {S(3)}\n")
    deep = f"tensor<{T}x3x4x8xf32>"
    yield "nested", dict(extra=f"%wide = mpt.broadcast %x : ({stack}) -> tensor<3x{T}x4x8xf32>\n"
                         f"%deep = mpt.transpose %wide {{permutation = array<i64: 1, 0, 2, 3>}} : (tensor<3x{T}x4x8xf32>) -> {deep}",
                         inits=f"carry(%a : {H})", over=f"over(%x, %deep : {stack}, {deep})", types=[H, deep],
                         body=f"^bb0(%p: {H}, %e: {H}, %d: {S(3)}):\n" + inner + f"mpt.yield %i#0, %i#1 : {H}, {S(3)}")
    yield "small", dict(inits="", over=f"over(%x : {stack})", types=[f"tensor<{T}x2x3xf32>"],
                        body=f"^bb0(%e: {H}):\n%q = mpt.slice %e {{offsets = array<i64: 1, 3>, sizes = array<i64: 2, 3>, "
                        f"strides = array<i64: 1, 1>}} : ({H}) -> tensor<2x3xf32>\nmpt.yield %q : tensor<2x3xf32>")


# What is loaded for sanitizers is not for the tools.
os.environ.pop("LD_PRELOAD", None)
runtime = ctypes.CDLL(library)
runtime.mpt_rt_create.restype = ctypes.c_void_p
runtime.mpt_rt_last_error.restype = ctypes.c_char_p


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)


def run(path, data):
    """Losses and parameters of three steps, as one array."""
    context = ctypes.c_void_p(runtime.mpt_rt_create(2))

    def check(status):
        assert status == 0, (path, runtime.mpt_rt_last_error(context))

    check(runtime.mpt_rt_open(context, path.encode()))
    check(runtime.mpt_rt_initialize(context, ctypes.c_uint64(7)))
    for name, array in data.items():
        check(runtime.mpt_rt_bind(context, name.encode(), *pointer(array)))
    found = []
    for _ in range(3):
        check(runtime.mpt_rt_run(context))
        loss, w = np.zeros((), np.float32), np.zeros((8, 8), np.float32)
        check(runtime.mpt_rt_read_output(context, b"loss", *pointer(loss)))
        check(runtime.mpt_rt_read(context, b"w", *pointer(w)))
        # -0 and 0 are equal: unrolled sums do not begin with zeros.
        found += [loss.ravel(), (w + 0).ravel()]
    runtime.mpt_rt_destroy(context)
    return np.concatenate(found)


count = hoisted = 0
for T, reverse in ((1, False), (2, True), (3, False), (20, True)):
    data = {name: rng.standard_normal(shape, np.float32)
            for name, shape in (("a", (4, 8)), ("b", (4, 8)), ("x", (T, 4, 8)))}
    for name, case in makeCases(T):
        with open(f"{name}{T}.mlir", "w") as file:
            file.write(model(T, reverse, **case))
        found = {}
        for form, most, hoists in (("loop", 0, "false"), ("unrolled", 1000, "false"),
                                   ("hoisted", 0, "true")):
            path = f"{name}{T}.{form}"
            subprocess.run(["mpt-opt", f"{name}{T}.mlir", "--mpt-autodiff", "--mpt-train-step=optimizer=sgd",
                            f"--mpt-plan-step=max-unrolled={most} hoist-from-scans={hoists}",
                            "-o", f"{path}.mlir"], check=True)
            assert form == "hoisted" or (
                ("mpt_program.loop" in open(f"{path}.mlir").read()) == (form == "loop")), path
            subprocess.run(["mpt-compile", f"{path}.mlir", "-o", f"{path}.so"], check=True)
            found[form] = run(f"./{path}.so", data)
        assert found["loop"].tobytes() == found["unrolled"].tobytes(), (name, T, reverse)
        # Sums of some hundred products of the order of 1, in f32.
        assert np.allclose(found["hoisted"], found["loop"], rtol=2e-5, atol=2e-5), (name, T, reverse)
        hoisted += open(f"{name}{T}.hoisted.mlir").read() != open(f"{name}{T}.loop.mlir").read()
        count += 1
print(f"{count} networks have the same bits as loops; matmuls leave {hoisted}")
