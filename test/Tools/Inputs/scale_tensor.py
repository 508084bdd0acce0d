"""Multiplies a tensor of f32 in a compressed .safetensors file by a factor.

  scale_tensor.py FILE NAME FACTOR
"""
import array
import gzip
import json
import sys

path, name, factor = sys.argv[1:]
data = gzip.open(path).read()
body = 8 + int.from_bytes(data[:8], "little")
entry = json.loads(data[8:body])[name]
assert entry["dtype"] == "F32", entry
start, end = (body + offset for offset in entry["data_offsets"])
values = array.array("f", (x * float(factor) for x in array.array("f", data[start:end])))
gzip.open(path, "w").write(data[:start] + values.tobytes() + data[end:])
