"""A step and its weights in one file: check_one_file.py make FOLDER | run FOLDER"""
import os
import sys

import numpy

mode, folder = sys.argv[1:]
program = os.path.join(folder, "step.so")


def losses(run, count=3):
    return [float(run()).hex() for _ in range(count)]


def show(name, values):
    print(name + ":", *values)


if mode == "make":
    import torch
    from torch.nn import functional as F
    import mpt.torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.LayerNorm(16),
                                torch.nn.Dropout(0.5), torch.nn.Linear(16, 4))
    # Rows that are all equal: mpt-run shuffles them.
    x, y = torch.randn(1, 12).repeat(8, 1), torch.full((8,), 3)
    step = mpt.torch.TrainStep(model, lambda model, x, y: F.cross_entropy(model(x), y),
                               optimizer=torch.optim.Adam(model.parameters(), 0.01),
                               example=(x, y), precision="f16", seed=5)
    for _ in range(2):
        step(x, y)
    print("written:", os.path.basename(step.export(program)),
          sorted(f for f in os.listdir(folder) if not f.endswith(".txt")))
    bare = os.path.join(folder, "bare.so")
    step.export(bare, state=False)
    print("smaller without:", os.path.getsize(bare) < os.path.getsize(program))
    numpy.save(os.path.join(folder, "x.npy"), x.numpy())
    numpy.save(os.path.join(folder, "y.npy"), y.numpy())
    show("torch", losses(lambda: step(x, y).loss))
else:
    import mpt

    x, y = (numpy.load(os.path.join(folder, name)) for name in ("x.npy", "y.npy"))

    def prepare(path):
        opened = mpt.Program.open(path)
        opened.bind("x", x)
        opened.bind("y", y)
        return opened

    def run():
        step.run()
        return numpy.asarray(step.read("loss"))

    step = prepare(program)
    first = losses(run)
    print("no torch:", "torch" not in sys.modules)
    show("python", first)
    # From the start again.
    step.initialize(seed=5)
    print("again:", losses(run) == first)
    try:
        prepare(os.path.join(folder, "bare.so")).run()
    except mpt.Error as error:
        print("refused:", str(error)[:60])
