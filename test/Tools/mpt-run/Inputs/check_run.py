# Checks files that mpt-run wrote, with Python's standard library alone.
#   check_run.py fit FILE.safetensors       w = [3, -2], b = 1 within 1e-3
#   check_run.py same A.jsonl B.jsonl       equal but for the times
#   check_run.py falls FILE.jsonl FACTOR    the loss falls by that factor
#   check_run.py eval FILE.jsonl FILE.safetensors X.npy Y.npy
#                                           the last evaluation is that of this state
import json
import struct
import sys


def tensors(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    result = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            result[name] = struct.unpack("<%df" % ((end - begin) // 4),
                                         data[8 + length + begin:8 + length + end])
    return result


def records(path):
    lines = [json.loads(line) for line in open(path)]
    for line in lines:
        line.pop("ms", None)
    return lines


kind, path = sys.argv[1:3]
if kind == "fit":
    state = tensors(path)
    for found, expected in zip(state["w"] + state["b"], (3, -2, 1)):
        assert abs(found - expected) < 1e-3, state
elif kind == "same":
    assert records(path) == records(sys.argv[3])
    assert records(path)
elif kind == "falls":
    losses = [line["loss"] for line in records(path) if "loss" in line]
    assert losses[-1] * float(sys.argv[3]) < losses[0], (losses[0], losses[-1])
elif kind == "eval":
    def floats(path):  # of a .npy file of format 1.0
        data = open(path, "rb").read()[10:]
        data = data[data.index(b"\n") + 1:]
        return struct.unpack("<%df" % (len(data) // 4), data)
    state, x, y = (read(path) for read, path in
                   zip((tensors, floats, floats), sys.argv[3:]))
    (w0, w1), (b,) = state["w"], state["b"]
    errors = [(w0 * x[2 * i] + w1 * x[2 * i + 1] + b) - y[i] for i in range(len(y))]
    last = [line for line in records(path) if "eval.mse" in line][-1]
    # f32 products and sums of a handful of terms of size 1.
    mse = sum(error * error for error in errors) / len(y)
    size = max(abs(w0) + abs(w1) + abs(b), max(map(abs, y)))
    bound = 16 * 2.0 ** -24 * (size * max(map(abs, errors)) + mse)
    assert abs(last["eval.mse"] - mse) <= bound, (last, mse, bound)
    assert last["eval.above"] == sum(error > 0 for error in errors), last
else:
    sys.exit("unknown check")
