"""Matmuls of 8-bit floats with scales of blocks, on the CPU and on the stand-in for CUDA.

  scaled_matmuls.py make CHIP STEP.mlir
  scaled_matmuls.py run CHIP LIB_DIR CPU.so CUDA.so [refuse]

CHIP is sm_90 or sm_100. One side of each matmul is an identity matrix, so the results are
the numbers that the 8-bit floats and scales of the other side stand for; or all numbers are
multiples of 1/8 so small that no sum is rounded. Either way all bits must be equal, also
where cuBLASLt is made to refuse all matmuls and the program's own function does them.
"""
import math
import random
import sys

mode, chip = sys.argv[1:3]
ROWS, COLUMNS = 144, 272
POWER = ", rule = #mpt.scale_rule<power_of_two>"
OCP = ", rule = #mpt.scale_rule<ocp_mx>"
# Blocks along rows and along K, their rule, and the type of their scales.
KINDS = [(1, 128, POWER, "f32"), (128, 128, POWER, "f32")]
KINDS += ([(1, 128, "", "f32"), (128, 128, "", "f32")] if chip == "sm_90" else
          [(1, 32, POWER, "f8E8M0FNU"), (1, 32, OCP, "f8E8M0FNU")])


def make():
    arguments, results, body, returned = [], [], [], []

    def argument(name, shape, kind):
        arguments.append(f'%{name}: tensor<{shape[0]}x{shape[1]}x{kind}> {{mpt.name = "{name}", mpt.role = "input"}}')

    def quantize(name, source, shape, kind, block, rule, scale):
        counts = [-(-size // length) for size, length in zip(shape, block)]
        types = (f"tensor<{shape[0]}x{shape[1]}xf8E4M3FN>", f"tensor<{counts[0]}x{counts[1]}x{scale}>")
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
    for number, (outer, length, rule, scale) in enumerate(KINDS):
        promotion = 128 if length == 128 else 0
        for source, kind in sources:
            base = f"{source}{number}"
            # Along rows by an identity, and by itself.
            row, column = (outer, length), (length, outer)
            side = (1, length)
            one = quantize(f"{base}r", source, (ROWS, COLUMNS), kind, row, rule, scale)
            if f"%e{number}c," not in " ".join(body):
                quantize(f"e{number}c", "eyec", (COLUMNS, COLUMNS), "f32", side, rule, scale)
                quantize(f"e{number}r", "eyer", (ROWS, ROWS), "f32", side[::-1], rule, scale)
            eye_c = (f"tensor<{COLUMNS}x{COLUMNS}xf8E4M3FN>", f"tensor<{COLUMNS}x{-(-COLUMNS // length)}x{scale}>")
            eye_r = (f"tensor<{ROWS}x{ROWS}xf8E4M3FN>", f"tensor<{-(-ROWS // length)}x{ROWS}x{scale}>")
            multiply(f"{base}r", one, row, f"e{number}c", eye_c, side, False, ROWS, COLUMNS, promotion)
            other = quantize(f"{base}c", source, (ROWS, COLUMNS), kind, column, rule, scale)
            multiply(f"{base}c", other, column, f"e{number}r", eye_r, side[::-1], True, COLUMNS, ROWS, promotion)
            if outer == 1 and scale == "f32":
                # Columns of the 8-bit rows.
                body.append(f"%{base}b = mpt.dequantize %{base}r, %{base}r_s {{block = array<i64: {row[0]}, {row[1]}>}} "
                            f": ({', '.join(one)}) -> tensor<{ROWS}x{COLUMNS}xf32>")
                again = quantize(f"{base}d", f"{base}b", (ROWS, COLUMNS), "f32", column, rule, scale)
                multiply(f"{base}d", again, column, f"e{number}r", eye_r, side[::-1], True, COLUMNS, ROWS, promotion)
            if source == "exact" and outer == 1 and rule:
                multiply(f"{base}r", one, row, f"{base}r", one, row, False, ROWS, ROWS, promotion)
                multiply(f"{base}c", other, column, f"{base}c", other, column, True, COLUMNS, COLUMNS, promotion)
    types = ", ".join(result.split(" {")[0] for result in results)
    return "\n  ".join(["func.func @step(" + ",\n    ".join(arguments) + ") -> (" + ", ".join(results) + ") {"] + body +
                       [f"return {', '.join('%' + name for name in returned)} : {types}"]) + "\n}\n"


if mode == "make":
    with open(sys.argv[3], "w") as file:
        file.write(make())
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
print("%d matmuls are equal, of cuBLASLt %d" % (len(a), matmuls // 2))
