"""Compares losses bit for bit: compare_losses.py EXPECTED.txt C.txt METRICS.jsonl"""
import json
import struct
import sys

expected, from_c, metrics = (open(name).read() for name in sys.argv[1:])
wanted = [float.fromhex(text) for text in expected.split()]


def single(number):
    return struct.unpack("f", struct.pack("f", number))[0]


found = [float.fromhex(line) for line in from_c.split()]
print("C:", sum(a == b for a, b in zip(found, wanted, strict=True)), "equal")
# mpt-run writes as many digits as tell one f32 from the next.
found = [single(json.loads(line)["loss"]) for line in metrics.splitlines()
         if "loss" in json.loads(line)]
print("mpt-run:", sum(a == b for a, b in zip(found, wanted, strict=True)), "equal", found)
