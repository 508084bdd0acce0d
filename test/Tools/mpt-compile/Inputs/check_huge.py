"""Runs the program of huge.mlir on the stand-in for CUDA, whose memory is mapped without
memory behind it, and which runs the first, the middle and the last blocks of each launch.
What these make must be right.

  check_huge.py LIB_DIR HUGE.so [refuse]

With "refuse" the program's own function multiplies.
"""
import math
import sys

import standin_step
from standin_step import Step, encode

lib_dir, path, *refuses = sys.argv[1:]
standin_step.load(lib_dir)
standin, ctypes = standin_step.standin, standin_step.ctypes
ROWS, COLUMNS, WIDTH, PARTS = 65600, 32800, 16, 8200
standin.mpt_standin_set_device(1, 9, 0, ctypes.c_int64(64 << 30))
standin.mpt_standin_set_parts(ctypes.c_int64(PARTS))
if refuses:
    standin.mpt_standin_fail(b"cublasLtMatmulAlgoGetHeuristic", 0, 15)
step = Step(path, True)
assert ROWS * COLUMNS > 1 << 31
IDS = [0, 1, ROWS // 2, ROWS // 2 + 1, ROWS - 1, ROWS - 1]
r = [i % 7 for i in range(ROWS)]
c = [j % 11 for j in range(COLUMNS)]
t = [i * 37 % COLUMNS for i in range(ROWS)]
w = [[(k + q) % 3 - 1 for q in range(WIDTH)] for k in range(COLUMNS)]
h = [[(i + q) % 2 for q in range(WIDTH)] for i in range(ROWS)]
u = [[n + j % 2 for j in range(COLUMNS)] for n in range(len(IDS))]
# The last rows of what is added go to the first rows of a table, and the other way round, and two in the middle
# change places; row 1 gets none, row 0 two.
k = [ROWS - 1 - i if i != ROWS - 2 else 0 for i in range(ROWS)]
k[ROWS // 2 - 2:ROWS // 2 + 2] = [ROWS // 2 - 2, ROWS // 2 - 1, ROWS // 2 + 1, ROWS // 2]
given = {"r": r, "c": c, "t": t, "i": IDS, "k": k}
for name, matrix in ("w", w), ("h", h), ("u", u):
    given[name] = [value for row in matrix for value in row]
for tensor in step.tensors:
    if tensor.role != b"output":
        step.give(tensor, encode(tensor.type.decode(), given[tensor.name.decode()]))
step.run()
found = {name: values for (_, name), values in step.read().items()}

exponentials = [math.exp(value) for value in c]
total = sum(exponentials)
probabilities = [value / total for value in exponentials]
mean = [sum(p * row[q] for p, row in zip(probabilities, w)) for q in range(WIDTH)]


def check(what, index, expected, tolerance=1e-5):
    value = found[what][index]
    assert abs(value - expected) <= tolerance * max(abs(expected), 1e-12), (what, index, value, expected)


def dx(i, j):
    return (probabilities[j] - (j == t[i])) / ROWS


rows = [0, 1, ROWS // 2 - 1, ROWS // 2, ROWS - 2, ROWS - 1]
for i in rows:
    check("sums", i, COLUMNS * r[i] + sum(c), 0)
    check("lse", i, r[i] + math.log(total))
    for q in range(WIDTH):
        check("product", i * WIDTH + q, sum((r[i] + c[j]) * w[j][q] for j in range(COLUMNS)), 8e-3)
        check("dh", i * WIDTH + q, (mean[q] - w[t[i]][q]) / ROWS,
              8e-3 if w[t[i]][q] else math.inf)
# Of tables these rows, and those of x that are added to them, are made.
for i in (0, 1, ROWS // 2, ROWS // 2 + 1, ROWS - 2, ROWS - 1):
    check("updates", i, sum(sum(u[n]) for n, row in enumerate(IDS) if row == i), 0)
    check("scattered", i, sum(COLUMNS * r[n] + sum(c) for n in range(ROWS) if k[n] == i), 0)
# All rows of some tasks are added.
added = (found["columns"][3] - found["columns"][0]) / 3
assert 0 < added <= ROWS and added == int(added), added
for j in (COLUMNS // 2, COLUMNS - 1):
    check("columns", j, found["columns"][0] + added * (c[j] - c[0]), 0)
assert found["all"][0] > 0
for index in (0, 1, 3 * COLUMNS, 3 * COLUMNS + 1, 6 * COLUMNS - 1):
    check("rows", index, r[IDS[index // COLUMNS]] + c[index % COLUMNS], 0)
# Sums over the rows that there are.
if not refuses:
    width = -(-ROWS // PARTS)
    middle = ROWS // 2 - width // 2
    known = [*range(width), *range(middle, middle + width), *range(ROWS - width, ROWS)]
    for q, j in [(0, 0), (1, COLUMNS // 2), (WIDTH - 1, COLUMNS - 1), (2, t[0]), (3, t[ROWS - 1])]:
        check("dw", q * COLUMNS + j, sum(h[i][q] * dx(i, j) for i in known), 2e-2)
assert standin.mpt_standin_breach() == b"", standin.mpt_standin_breach()
print("%d elements a tensor, %d rows are right" % (ROWS * COLUMNS, len(rows)))
