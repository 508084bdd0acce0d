# Checks files that mpt-run wrote, with Python's standard library alone.
#   check_run.py fit FILE.safetensors       w = [3, -2], b = 1 within 1e-3
#   check_run.py same A.jsonl B.jsonl       equal but for the times
#   check_run.py falls FILE.jsonl FACTOR    the loss falls by that factor
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
else:
    sys.exit("unknown check")
