# Compares what run_step printed with what mpt-run saved, bit for bit.
#   check_step.py RUN_STEP.txt CHECKPOINT.safetensors METRICS.jsonl
import json
import struct
import sys

printed = {}
for line in open(sys.argv[1]):
    role, name, dtype, data = line.split()
    printed[role == "output", name] = dtype, bytes.fromhex(data)

data = open(sys.argv[2], "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
del header["__metadata__"]
state = {name: data[8 + length + entry["data_offsets"][0]:
                    8 + length + entry["data_offsets"][1]]
         for name, entry in header.items()}
found = {name: value for (is_output, name), (_, value) in printed.items()
         if not is_output}
assert found == state, (found, state)
assert len(state) >= 3

last = json.loads(open(sys.argv[3]).readlines()[-1])
outputs = {name: value for (is_output, name), value in printed.items() if is_output}
assert "loss" in outputs
for name, (dtype, value) in outputs.items():
    if dtype == "i1":
        assert bool(value[0]) == last[name], name
    else:
        # The shortest decimal that reads back as this f32.
        assert struct.pack("<f", last[name]) == value, name
