"""Writes a program of all calls that device code carries out.

  make_calls.py TARGET
"""
import sys

buffers, calls = [], []
spaces = {"input": 0, "output": 0, "arena": 0}
sizes = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8E4M3FN": 1, "f8E5M2": 1, "i64": 8,
         "i32": 4, "i16": 2, "i8": 1, "i1": 1}


def buffer(space, kind, dims, name=None):
    count = 1
    for dim in dims:
        count *= dim
    offset = spaces[space]
    spaces[space] += 1 if space == "input" else (count * sizes[kind] + 63) // 64 * 64
    value = "%%s%d" % len(buffers)
    memref = "memref<%s>" % "x".join([str(d) for d in dims] + [kind])
    role = ", role = #mpt.role<input>" if space == "input" else ""
    attrs = ' {name = "%s"%s}' % (name, role) if name else ""
    buffers.append("  %s = mpt_program.buffer <%s> %d%s : %s" % (value, space, offset, attrs, memref))
    return value, memref


def call(callee, ins, out, config="", workspace=0):
    """`ins`: (prefix of the name, type, dims). Prefix iN: integers below N; n: some
    are not numbers; p: powers of two."""
    index = len(calls)
    inputs = [buffer("input", kind, dims, "%s_%d_%d" % (prefix, index, i))
              for i, (prefix, kind, dims) in enumerate(ins)]
    output = buffer("output", out[0], out[1], "y_%d_%s" % (index, callee))
    text = "  mpt_program.%s" % callee
    init = inputs[2:] if callee == "scatter_add" else []
    inputs = inputs[:len(inputs) - len(init)]
    if inputs:
        text += " ins(%s : %s)" % (", ".join(v for v, _ in inputs),
                                   ", ".join(t for _, t in inputs))
    if init:
        text += " init(%s : %s)" % init[0]
    text += " outs(%s : %s)" % output
    if workspace:
        text += " workspace(%s : %s)" % buffer("arena", "i8", [workspace])
    if config:
        text += " {%s}" % config
    calls.append(text)


for kind, dims in [("f32", [37, 24]), ("bf16", [37, 5]), ("f64", [37, 3, 2]), ("i64", [37])]:
    table = ("i9" if kind == "i64" else "x", kind, dims)
    call("gather", [table, ("i37", "i64", [5, 7])], (kind, [5, 7] + dims[1:]))
    call("gather", [table, ("i37", "i32", [311])], (kind, [311] + dims[1:]))
for size, count, row, kind, update in [
        (37, 3000, 24, "f32", "f32"), (1200, 2500, 40, "f32", "bf16"),
        (5, 10000, 3, "f32", "f16"), (600, 700, 8, "bf16", "bf16"),
        (1, 600, 1, "f32", "f32"), (3, 5, 700, "f32", "f32"),
        # So large that a block has several rows and several are along one.
        (530, 300, 600, "f32", "f32"),
        # So many indices that a thread reads eight at once, with and without a rest.
        (700, 5120, 8, "f32", "f32"), (700, 5003, 8, "f32", "f32")]:
    workspace = 0 if kind == "f32" else (size * row * 4 + 63) // 64 * 64
    call("scatter_add", [("i%d" % size, "i32", [count]), ("x", update, [count, row])],
         (kind, [size, row]), workspace=workspace)
# Added to a table, by one block a row, and by several, whose sums a second function adds.
for size, count, row, kind, update in [
        (600, 700, 8, "f32", "bf16"), (600, 700, 8, "bf16", "bf16"), (530, 300, 600, "f32", "f32"),
        (5, 10000, 3, "f32", "f16")]:
    workspace = 0 if kind == "f32" else (size * row * 4 + 63) // 64 * 64
    call("scatter_add", [("i%d" % size, "i32", [count]), ("x", update, [count, row]),
                         ("x", kind, [size, row])], (kind, [size, row]), workspace=workspace)
call("scatter_add", [("i7", "i64", [20, 30]), ("x", "f32", [20, 30, 2, 4])], ("f32", [7, 2, 4]))
call("scatter_add", [("i900", "i64", [5120]), ("x", "f32", [5120, 4])], ("f32", [900, 4]))
# Maxima, minima and products: a thread for one element and for several, by one block a row and
# by several.
for size, count, row, kind, reduced in [
        (600, 700, 8, "f32", "max"), (600, 700, 8, "bf16", "min"), (5, 10000, 3, "f32", "max"),
        (5, 10000, 3, "f16", "min"), (530, 300, 600, "f32", "prod")]:
    call("scatter_add", [("i%d" % size, "i32", [count]), ("n", kind, [count, row]),
                         ("x", kind, [size, row])], (kind, [size, row]),
         "kind = #mpt.reduce_kind<%s>" % reduced,
         workspace=0 if kind == "f32" else (size * row * 4 + 63) // 64 * 64)
call("check_indices", [("i10", "i32", [50])], ("i32", [50]), "size = 10 : i64")
call("check_indices", [("i10", "i64", [5, 100])], ("i64", [5, 100]),
     "size = 9 : i64, ignore_index = 9 : i64")

PAD = "window = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>"
EDGE = "window = array<i64: 3, 2>, strides = array<i64: 1, 2>, padding = array<i64: 0, 1, 1, 0>"
PLAIN = "window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>"
for kind, x, y, config in [("f16", [2, 9, 7, 8], [2, 5, 4, 8], PAD),
                           ("f32", [2, 8, 6, 3], [2, 4, 3, 3], PLAIN),
                           ("bf16", [1, 6, 5, 10], [1, 5, 3, 10], EDGE),
                           ("f64", [1, 5, 5, 2], [1, 2, 2, 2], PLAIN),
                           ("f8E5M2", [1, 4, 4, 16], [1, 2, 2, 16], PLAIN)]:
    call("max_pool", [("n", kind, x)], (kind, y), config)
    # Sums of windows that overlap, in f32.
    overlaps = config != PLAIN and kind != "f32"
    call("max_pool_grad", [("x", kind, y), ("n", kind, x)], (kind, x), config,
         workspace=1 << 20 if overlaps else 0)
    for more in "", ", count_include_pad":
        call("avg_pool", [("x", kind, x)], (kind, y), config + more)
        call("avg_pool_grad", [("x", kind, y)], (kind, x), config + more)


def reduce(kind, x, axes, how, to=None, prefix="x"):
    y = [d for i, d in enumerate(x) if i not in axes]
    call("reduce", [(prefix, kind, x)], (to or kind, y),
         "axes = array<i64: %s>, kind = #mpt.reduce_kind<%s>" % (", ".join(map(str, axes)), how))


for kind in "f32", "bf16", "f64":
    reduce(kind, [4, 6, 5, 8], [1, 2], "mean", "f32" if kind == "bf16" else None)
    reduce(kind, [3, 300, 70], [1], "max", prefix="n")
    reduce(kind, [5, 77], [1], "min", prefix="n")
    reduce(kind, [9, 1025], [1], "sum", "f32" if kind == "bf16" else None)
    reduce(kind, [4, 6, 5, 8], [1, 3], "sum", "f32" if kind == "bf16" else None)
    reduce(kind, [4, 6, 5, 8], [0, 2], "max")
reduce("f32", [70001], [0], "sum")
reduce("f32", [64, 3000], [0, 1], "max")
reduce("f32", [3000, 64], [0], "sum")
reduce("f32", [2, 3, 4], [0, 1], "prod", prefix="p")
reduce("f32", [5000, 1, 2], [1], "sum")
for kind in "i64", "i32", "i8", "i1":
    for how in "sum", "max", "min", "prod":
        reduce(kind, [4, 5, 6], [1], how, prefix="i2" if kind == "i1" else "i9")
for kind, to in ("f32", "i32"), ("bf16", "i64"), ("f64", "i32"):
    for length in 1, 10, 100:
        call("argmax", [("n", kind, [11, length])], (to, [11]))
for count in 1000, 64, 5:
    call("random_mask", [("i1000000", "i64", []), ("i9", "i64", [])], ("i1", [count]),
         "rate = 0.3 : f64, stream = %d : i64" % count)
    call("random_bits", [("i1000000", "i64", []), ("i9", "i64", [])], ("i16", [count]),
         "stream = %d : i64" % count)
for kind in "f32", "f16", "i64", "i1", "f8E4M3FN":
    prefix = "i2" if kind[0] == "i" else "x"
    call("copy", [(prefix, kind, [5, 6, 7])], (kind, [7, 5, 6]),
         "sizes = array<i64: 7, 5, 6>, src_strides = array<i64: 1, 42, 7>, "
         "dst_strides = array<i64: 30, 6, 1>")
    call("copy", [(prefix, kind, [6, 16])], (kind, [3, 8]),
         "sizes = array<i64: 3, 8>, src_offset = 8 : i64, src_strides = array<i64: 32, 1>, "
         "dst_strides = array<i64: 8, 1>")
    call("copy", [(prefix, kind, [])], (kind, [1]),
         "sizes = array<i64>, src_strides = array<i64>, dst_strides = array<i64>")
    call("copy", [(prefix, kind, [1000])], (kind, [1000]),
         "sizes = array<i64: 1000>, src_strides = array<i64: 1>, dst_strides = array<i64: 1>")
    call("fill", [], (kind, [33, 5]), "value = 1.0 : f64")

machine, *chips = sys.argv[1].split()
target = "%s, [%s]" % (machine, ", ".join(chips)) if chips else machine
print('mpt_program.program @calls attributes {target = #mpt.target<%s>, max_threads = 2 : i64, arena_bytes = %d : '
      "i64, state_bytes = 0 : i64, output_bytes = %d : i64} {"
      % (target, spaces["arena"], spaces["output"]))
print("\n".join(buffers + calls))
print("}")
