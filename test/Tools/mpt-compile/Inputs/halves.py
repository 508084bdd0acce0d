"""A tensor by name for a step that keeps it in two halves of 16 bits:
halves.py write FILE.safetensors; halves.py check STATE.txt"""
import json
import random
import struct
import sys

random.seed(1)
data = struct.pack("<1200f", *[random.gauss(0, 1) for _ in range(1200)])
if sys.argv[1] == "write":
    header = json.dumps({"w": {"dtype": "F32", "shape": [4, 300],
                               "data_offsets": [0, len(data)]}}).encode()
    with open(sys.argv[2], "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + data)
else:
    state = {name: bytes.fromhex(text) for _, name, _, text in
             (line.split() for line in open(sys.argv[2]))}
    high = struct.unpack("<1200H", state["w"])
    low = struct.unpack("<1200h", state["w.low"])
    joined = struct.pack("<1200I", *[(a << 16) + b for a, b in zip(high, low)])
    print("halves:", joined == data)
