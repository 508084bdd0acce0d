"""Checks a profile of the sine network: check_profile.py FILE MODEL"""
import json
import math
import re
import sys

profile = json.load(open(sys.argv[1]))
text = open(sys.argv[2]).read()
shape = {name: (int(rows), int(columns)) for name, rows, columns in
         re.findall(r"%(\w+): tensor<(\d+)x(\d+)xf32>", text)}
expected = 0
for x, w in re.findall(r"mpt.linear %(\w+), %(\w+),", text):
    # Forward and the weight's gradient; the input's, unless it is data.
    expected += (2 if x == "x" else 3) * 2 * shape["x"][0] * shape[w][0] * shape[w][1]
matmuls = next(group for group in profile["calls"] if group["name"] == "matmul")
print("matmuls:", matmuls["flops"] == expected or (matmuls["flops"], expected))
total = sum(one["ms"] for one in profile["instructions"])
print("sums:", *(math.isclose(total, sum(group["ms"] for group in profile[kind]))
                 for kind in ("calls", "sources")))
print("no step is faster than its peak by much:",
      all(one["bound_ms"] <= 3 * one["ms"] for one in profile["instructions"]
          if one["ms"] > 1 and one["call"] == "matmul"))
