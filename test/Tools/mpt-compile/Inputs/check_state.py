"""Compares state that run_step printed with a checkpoint: check_state.py TEXT CHECKPOINT"""
import json
import struct
import sys

found = {name: bytes.fromhex(data) for role, name, _, data in
         (line.split() for line in open(sys.argv[1])) if role != "output"}
data = open(sys.argv[2], "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
del header["__metadata__"]
begin = 8 + length
wanted = {name: data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]]
          for name, entry in header.items()}
print("all state is equal:", found == wanted and len(wanted) > 10)
