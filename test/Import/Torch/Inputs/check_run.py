"""What mpt-run made of my_model.py in the folder argv[1]."""
import json
import sys

import torch
from safetensors.torch import load_file

import my_model

folder = sys.argv[1]
losses = [json.loads(line)["loss"] for line in open(folder + "/run.jsonl")]
print("loss fell:", sum(losses[-10:]) < 0.7 * sum(losses[:10]))
model, _, _ = my_model.make()
before = {name: value.clone() for name, value in model.state_dict().items()}
found = model.load_state_dict(load_file(folder + "/run.safetensors"), strict=False)
print("missing:", found.missing_keys)
moved = {name: not torch.equal(before[name], value)
         for name, value in model.state_dict().items()}
print(f"frozen moved: {moved['frozen.weight']}, head moved: {moved['head.weight']}")
