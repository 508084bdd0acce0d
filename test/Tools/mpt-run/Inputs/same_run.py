"""Asserts that two runs A and B left the same state in A.safetensors and B.safetensors, and the
same lines but for times in A.jsonl and B.jsonl."""
import json
import sys

from safetensors import deserialize

a, b = sys.argv[1:]
first, second = (dict(deserialize(open(name + ".safetensors", "rb").read())) for name in (a, b))
assert first.keys() == second.keys()
for name in first:
    assert first[name] == second[name], name
lines = [[{k: v for k, v in json.loads(line).items() if k != "ms"} for line in open(name + ".jsonl")]
         for name in (a, b)]
assert lines[0] and lines[0] == lines[1], lines
