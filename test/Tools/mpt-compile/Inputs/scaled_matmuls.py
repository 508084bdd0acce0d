"""Matmuls of 8-bit floats with scales of blocks, on the CPU and on the stand-in for CUDA.

  scaled_matmuls.py make KIND STEP.mlir
  scaled_matmuls.py run KIND LIB_DIR CPU.so CUDA.so [refuse]

KIND is sm_90, sm_100, nvfp4 (on sm_100), or tensor (on sm_90): one scale for each tensor, an
argument or made of its amax, as recipe=delayed and recipe=current of --mpt-fp8 have it. One side of each matmul is an identity matrix, so the results are
the numbers that the 8-bit floats and scales of the other side stand for; or all numbers are
multiples of 1/8 so small that no sum is rounded. Either way all bits must be equal, also
where cuBLASLt is made to refuse all matmuls and the program's own function does them.
"""
import math
import random
import sys

mode, chip = sys.argv[1:3]
is_four_bit = chip == "nvfp4"
has_one_scale = chip == "tensor"
if is_four_bit or has_one_scale:
    chip = "sm_100" if is_four_bit else "sm_90"
ROWS, COLUMNS = (160, 288) if is_four_bit else (144, 272)
POWER = ", rule = #mpt.scale_rule<power_of_two>"
OCP = ", rule = #mpt.scale_rule<ocp_mx>"
# Blocks along rows and along K, their rule, the type of their scales, and that of numbers.
KINDS = [(1, 128, POWER, "f32", "f8E4M3FN"), (128, 128, POWER, "f32", "f8E4M3FN")]
KINDS += ([(1, 128, "", "f32", "f8E4M3FN"), (128, 128, "", "f32", "f8E4M3FN")] if chip == "sm_90" else
          [(1, 32, POWER, "f8E8M0FNU", "f8E4M3FN"), (1, 32, OCP, "f8E8M0FNU", "f8E4M3FN")])
if is_four_bit:
    KINDS = [(1, 16, "", "f8E4M3FN", "f4E2M1FN")]


def make():
    arguments, results, body, returned = [], [], [], []

    def argument(name, shape, kind):
        arguments.append(f'%{name}: tensor<{shape[0]}x{shape[1]}x{kind}> {{mpt.name = "{name}", mpt.role = "input"}}')

    def quantize(name, source, shape, kind, block, rule, scale, format):
        counts = [-(-size // length) for size, length in zip(shape, block)]
        types = (f"tensor<{shape[0]}x{shape[1]}x{format}>", f"tensor<{counts[0]}x{counts[1]}x{scale}>")
        body.append(f"%{name}, %{name}_s = mpt.quantize %{source} {{block = array<i64: {block[0]}, {block[1]}>{rule}}} "
                    f": (tensor<{shape[0]}x{shape[1]}x{kind}>) -> ({', '.join(types)})")
        return types

    def multiply(lhs, lhs_types, lhs_block, rhs, rhs_types, rhs_block, transposed, m, n, promotion):
        name = f"y{len(returned)}"
        flags = ", transpose_lhs" if transposed else ", transpose_rhs"
        body.append(f"%{name} = mpt.scaled_matmul %{lhs}, %{lhs}_s, %{rhs}, %{rhs}_s {{lhs_block = array<i64: {lhs_block[0]}, "
                    f"{lhs_block[1]}>, rhs_block = array<i64: {rhs_block[0]}, {rhs_block[1]}>{flags}, promotion = {promotion} : i64}} "
                    f": ({', '.join(lhs_types + rhs_types)}) -> tensor<{m}x{n}xf32>")
        results.append(f'tensor<{m}x{n}xf32> {{mpt.name = "{name}"}}')
        returned.append(name)

    argument("eyer", (ROWS, ROWS), "f32")
    argument("eyec", (COLUMNS, COLUMNS), "f32")
    sources = [("wild", "f32"), ("special", "f32"), ("low", "bf16"), ("half", "f16"), ("exact", "f32")]
    for source, kind in sources:
        argument(source, (ROWS, COLUMNS), kind)
    for number, (outer, length, rule, scale, format) in enumerate(KINDS):
        promotion = 128 if length == 128 else 0
        for source, kind in sources:
            base = f"{source}{number}"
            # Along rows by an identity, and by itself.
            row, column = (outer, length), (length, outer)
            side = (1, length)
            one = quantize(f"{base}r", source, (ROWS, COLUMNS), kind, row, rule, scale, format)
            if f"%e{number}c," not in " ".join(body):
                quantize(f"e{number}c", "eyec", (COLUMNS, COLUMNS), "f32", side, rule, scale, format)
                quantize(f"e{number}r", "eyer", (ROWS, ROWS), "f32", side[::-1], rule, scale, format)
            eye_c = (f"tensor<{COLUMNS}x{COLUMNS}x{format}>", f"tensor<{COLUMNS}x{-(-COLUMNS // length)}x{scale}>")
            eye_r = (f"tensor<{ROWS}x{ROWS}x{format}>", f"tensor<{-(-ROWS // length)}x{ROWS}x{scale}>")
            multiply(f"{base}r", one, row, f"e{number}c", eye_c, side, False, ROWS, COLUMNS, promotion)
            other = quantize(f"{base}c", source, (ROWS, COLUMNS), kind, column, rule, scale, format)
            multiply(f"{base}c", other, column, f"e{number}r", eye_r, side[::-1], True, COLUMNS, ROWS, promotion)
            if outer == 1 and scale == "f32":
                # Columns of the 8-bit rows.
                body.append(f"%{base}b = mpt.dequantize %{base}r, %{base}r_s {{block = array<i64: {row[0]}, {row[1]}>}} "
                            f": ({', '.join(one)}) -> tensor<{ROWS}x{COLUMNS}xf32>")
                again = quantize(f"{base}d", f"{base}b", (ROWS, COLUMNS), "f32", column, rule, scale, format)
                multiply(f"{base}d", again, column, f"e{number}r", eye_r, side[::-1], True, COLUMNS, ROWS, promotion)
            if source == "exact" and outer == 1 and (rule or is_four_bit):
                multiply(f"{base}r", one, row, f"{base}r", one, row, False, ROWS, ROWS, promotion)
                multiply(f"{base}c", other, column, f"{base}c", other, column, True, COLUMNS, COLUMNS, promotion)
    types = ", ".join(result.split(" {")[0] for result in results)
    return "\n  ".join(["func.func @step(" + ",\n    ".join(arguments) + ") -> (" + ", ".join(results) + ") {"] + body +
                       [f"return {', '.join('%' + name for name in returned)} : {types}"]) + "\n}\n"


def make_one_scale():
    arguments, results, body, returned = [], [], [], []

    def argument(name, shape, kind):
        arguments.append(f'%{name}: {spell(shape, kind)} {{mpt.name = "{name}", mpt.role = "input"}}')

    def spell(shape, kind):
        return "tensor<" + "".join(f"{size}x" for size in shape) + kind + ">"

    def op(name, text, operands, result):
        body.append(f"%{name} = mpt.{text} : ({', '.join(operands)}) -> {result}")

    def give(name, type):
        results.append(f'{type} {{mpt.name = "{name}"}}')
        returned.append(name)

    shape, turned, scalar = (ROWS, COLUMNS), (COLUMNS, ROWS), "tensor<f32>"
    wide = spell(shape, "f32")
    argument("scale", (), "f32")
    for name, size in ("eyer", ROWS), ("eyec", COLUMNS):
        argument(name, (size, size), "f32")
        op(f"{name}8", f"cast %{name}", [spell((size, size), "f32")], spell((size, size), "f8E4M3FN"))
    body.append(f"%one = mpt.constant dense<1.0> : {scalar}")
    for source, kind in ("wild", "f32"), ("special", "f32"), ("low", "bf16"), ("half", "f16"), ("exact", "f32"):
        argument(source, shape, kind)
        own = spell(shape, kind)
        # What is no argument, and an argument that is rounded first.
        op(f"{source}_sum", f"add %{source}, %{source}", [own, own], own)
        values = [(source, kind), (f"{source}_sum", kind)]
        if source == "wild":
            op("round", "cast %wild", [own], spell(shape, "bf16"))
            values.append(("round", "bf16"))
        for value, kind in values:
            for format, largest in ("f8E4M3FN", 448.0), ("f8E5M2", 57344.0):
                for recipe in "delayed", "current":
                    if kind == "f32" and recipe == "current" and format == "f8E5M2":
                        continue
                    base = f"{value}_{format[:4]}_{recipe}"
                    w = value
                    if kind != "f32":
                        w = f"{base}_wide"
                        op(w, f"cast %{value}", [spell(shape, kind)], wide)
                    op(f"{base}_abs", f"abs %{w}", [wide], wide)
                    op(f"{base}_amax", f"reduce %{base}_abs {{axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<max>}}", [wide],
                       scalar)
                    give(f"{base}_amax", scalar)
                    factor = "scale"
                    for name, number in ("most", largest), ("least", -largest):
                        body.append(f"%{base}_{name} = mpt.constant dense<{number}> : {scalar}")
                    if recipe == "current":
                        factor = f"{base}_factor"
                        op(f"{base}_quotient", f"div %{base}_most, %{base}_amax", [scalar, scalar], scalar)
                        op(f"{base}_finite", f"is_finite %{base}_quotient", [scalar], "tensor<i1>")
                        op(factor, f"where %{base}_finite, %{base}_quotient, %one", ["tensor<i1>", scalar, scalar], scalar)
                    op(f"{base}_scaled", f"mul %{w}, %{factor}", [wide, scalar], wide)
                    op(f"{base}_min", f"minimum %{base}_scaled, %{base}_most", [wide, scalar], wide)
                    op(f"{base}_max", f"maximum %{base}_min, %{base}_least", [wide, scalar], wide)
                    op(f"{base}_is", f"is_finite %{w}", [wide], spell(shape, "i1"))
                    op(f"{base}_where", f"where %{base}_is, %{base}_max, %{w}", [spell(shape, "i1"), wide, wide], wide)
                    narrow = spell(shape, format)
                    op(f"{base}_q", f"cast %{base}_where", [wide], narrow)
                    op(f"{base}_row", f"matmul %{base}_q, %eyec8", [narrow, spell((COLUMNS, COLUMNS), "f8E4M3FN")], wide)
                    give(f"{base}_row", wide)
                    op(f"{base}_column", f"matmul %{base}_q, %eyer8 {{transpose_lhs}}",
                       [narrow, spell((ROWS, ROWS), "f8E4M3FN")], spell(turned, "f32"))
                    give(f"{base}_column", spell(turned, "f32"))
    types = ", ".join(result.split(" {")[0] for result in results)
    return "\n  ".join(["func.func @step(" + ",\n    ".join(arguments) + ") -> (" + ", ".join(results) + ") {"] + body +
                       [f"return {', '.join('%' + name for name in returned)} : {types}"]) + "\n}\n"


if mode == "make":
    with open(sys.argv[3], "w") as file:
        file.write(make_one_scale() if has_one_scale else make())
    sys.exit()

import standin_step
from standin_step import Step, encode

lib_dir, cpu_path, cuda_path, *refuses = sys.argv[3:]
standin_step.load(lib_dir)
if refuses:
    standin_step.standin.mpt_standin_fail(b"cublasLtMatmulAlgoGetHeuristic", 0, 15)
standin_step.standin.mpt_standin_set_device(1, int(chip[3:]) // 10, 0, standin_step.ctypes.c_int64(1 << 30))
cpu, cuda = Step(cpu_path, False), Step(cuda_path, True)
random.seed(11)


def wild(most):
    return (random.uniform(-1, 1) * 2.0 ** random.uniform(-most, most)) if random.random() < 0.9 else 0.0


for tensor in cpu.tensors:
    name, kind = tensor.name.decode(), tensor.type.decode()
    if tensor.role != b"input":
        continue
    if name == "scale":
        for step in cpu, cuda:
            step.give(tensor, encode(kind, [3.7]))
        continue
    rows, columns = tensor.dims[0], tensor.dims[1]
    if name.startswith("eye"):
        values = [1.0 if i == j else 0.0 for i in range(rows) for j in range(columns)]
    elif name == "exact":
        values = [random.randrange(-16, 16) / 8 for _ in range(rows * columns)]
    else:
        most = 12 if name != "half" else 4
        values = [wild(most) for _ in range(rows * columns)]
        # A block of zeros, one of tiny and one of huge numbers.
        for j in range(128):
            values[5 * columns + j] = 0.0
            if kind == "f32":
                values[6 * columns + j] = random.uniform(-1, 1) * 2.0 ** -130
                values[7 * columns + j] = random.uniform(-1, 1) * 2.0 ** 100
        if name == "special":
            values[3 * columns + 200] = math.nan
            values[130 * columns + 17] = -math.inf
    data = encode(kind, values)
    cpu.give(tensor, data)
    cuda.give(tensor, data)
for run in range(2):
    cpu.run()
    cuda.run()
    a, b = cpu.read(), cuda.read()
    for key in a:
        bad = [i for i, (x, y) in enumerate(zip(a[key], b[key])) if not (x == y or (x != x and y != y))]
        assert not bad, (key, len(bad), bad[0], a[key][bad[0]], b[key][bad[0]])
matmuls = standin_step.standin.mpt_standin_calls(b"cublasLtMatmul")
standin_step.check_use([cpu, cuda], launches=1)
print("%d results are equal, %d matmuls by cuBLASLt" % (len(a), matmuls // 2))
