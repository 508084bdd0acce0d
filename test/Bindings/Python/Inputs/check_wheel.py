"""Trains with the installed wheel, without compilers: check_wheel.py SITE_PACKAGES

SITE_PACKAGES has PyTorch and numpy; MPT must not come from there."""
import os
import re
import shutil
import sys

sys.path.append(sys.argv[1])
import mpt
import mpt.torch
import torch
from torch.nn import functional as F

tools = "cc c++ gcc g++ clang clang++ ld ld.lld lld ninja cmake nvcc ptxas"
print("tools:", [t for t in tools.split() if shutil.which(t)])
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                            torch.nn.Flatten(), torch.nn.Linear(8 * 36, 4))
torch.manual_seed(0)
x, y = torch.randn(16, 3, 8, 8), torch.randint(0, 4, (16,))
step = mpt.torch.TrainStep(model, lambda model, x, y: F.cross_entropy(model(x), y),
                           torch.optim.AdamW(model.parameters(), 1e-2), (x, y), precision="bf16")
losses = [step(x, y).loss for _ in range(10)]
print("learns:", losses[-1] < 0.5 * losses[0])

# What is loaded of MPT and its libraries is the wheel's.
inside = os.path.realpath(sys.prefix)
maps = {line.split()[-1] for line in open("/proc/self/maps") if "/" in line}
# By names of files and of the package's folder: the tree may lie in a folder of any name.
libraries = {p for p in maps
             if re.search(r"(MPT|MLIR|LLVM|dnnl)[^/]*$|/(python|site-packages)/mpt/", p)}
print("libraries:", len(libraries) >= 5, [p for p in libraries if not p.startswith(inside)])
