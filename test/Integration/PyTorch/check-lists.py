"""Compares autocast-lists.json with what the installed PyTorch registers."""

import json
import os
import re
import sys

import torch

lists = json.load(open(sys.argv[1]))
if torch.__version__.split(".")[:2] != ["2", "15"]:
    print("lists of another release:", torch.__version__)
    sys.exit()
header = open(os.path.join(os.path.dirname(torch.__file__),
                           "include/ATen/autocast_mode.h")).read()


def macro(name):
    text = header[header.index(f"#define {name}(_)"):]
    text = text[:re.search(r"\n\n|\n#", text).start()]
    return {".".join(entry.split(", "))
            for entry in re.findall(r"_\((\w+(?:, \w+)?)\)", text)}


def registered(key):
    return {name[len("aten::"):] for name in torch._C._dispatch_get_all_op_names()
            if name.startswith("aten::")
            and torch._C._dispatch_has_kernel_for_dispatch_key(name, key)}


differences = []
cuda = {kind: set(names) for kind, names in lists["torch-cuda"].items()
        if kind != "source"}
for kind, names in (
        ("allow", macro("AT_FORALL_LOWER_PRECISION_FP")),
        ("deny", macro("AT_FORALL_FP32") | macro("AT_FORALL_FP32_SET_OPT_DTYPE")),
        ("promote", macro("AT_FORALL_PROMOTE"))):
    differences += [(kind, name) for name in names - cuda[kind]]
# Registered in the .cpp file alone, or refused.
for key, device in (("AutocastCUDA", "torch-cuda"), ("AutocastCPU", "torch-cpu")):
    known = {name for kind, names in lists[device].items() if kind != "source"
             for name in names}
    differences += [(device, name) for name in registered(key) ^ known
                    if name not in ("_cudnn_rnn", "binary_cross_entropy")]
print(len(differences), "difference(s)", *differences)
