"""Checkpoints that TrainStep writes while it trains: check_background_save.py FOLDER KIND [LIBRARY]
KIND: cpu; cuda on LIBRARY, the stand-in for CUDA; zero2, of several processes; or end, which ends
while it writes one."""
import os
import sys

import torch
from torch.nn import functional as F

import mpt
import mpt.torch

folder, kind, *library = sys.argv[1:]
torch.manual_seed(1)
x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))


def make():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 400), torch.nn.ReLU(), torch.nn.Dropout(0.1),
                                torch.nn.Linear(400, 4))
    options = {"device": "cuda", "cuda": {"cudart": library[0], "cublaslt": library[0],
                                          "emulated_kernels": True}} if library else {}
    if kind == "zero2":
        options["parallel"] = kind
    return mpt.torch.TrainStep(model, lambda model, x, y: F.cross_entropy(model(x), y),
                               optimizer=torch.optim.AdamW(model.parameters(), 0.01),
                               example=(x, y), **options)


def path(name):
    return os.path.join(folder, name + ".safetensors")


def read(name):
    with open(path(name), "rb") as file:
        return file.read()


def refused(tried, *arguments, **named):
    try:
        tried(*arguments, **named)
    except mpt.Error as error:
        print("refused:", str(error).replace(folder, "FOLDER"))
    else:
        print("not refused")


step = make()
for _ in range(3):
    step(x, y)
if kind == "end":
    step.save(path("end"), background=True)
    sys.exit()
step.save(path("waited"))
step.save(path("beside"), background=True)
later = [step(x, y).loss for _ in range(3)]
step.wait()
if step.rank == 0 and kind != "zero2":
    print("the same bytes:", read("waited") == read("beside"))
step.wait()

# It is what it was when it was begun, and the next steps have the bits that they had.
step.load(path("beside"))
again = [step(x, y).loss for _ in range(3)]
if step.rank == 0:
    print("goes on:", again == later)
# One after the other, to the same file; loading waits.
for _ in range(3):
    state = step.state_dict()
    step.save(path("beside"), background=True)
    step(x, y)
step.load(path("beside"))
same = all(torch.equal(a, b) for a, b in zip(state.values(), step.state_dict().values()))
if step.rank == 0:
    print("the last one:", same, sorted(os.listdir(folder)) if kind == "zero2" else "")

# What goes wrong there is an error of whatever waits for it next, once, and of all processes.
if kind != "zero2" or step.rank == 0:
    say = refused
else:
    def say(tried, *arguments, **named):
        try:
            tried(*arguments, **named)
        except mpt.Error:
            pass
none = path("none/c")
say(step.save, none, background=True)
step(x, y)
say(step.wait)
step.wait()
say(step.save, none, background=True)
say(step.save, path("after"))
say(step.save, none, background=True)
say(step.load, path("after"))
step.load(path("after"))
say(step.save, none, background=True)
say(step.close)
step.close()
