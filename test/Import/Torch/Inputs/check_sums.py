"""Long sums keep their digits, whichever dimensions they are over.

check_sums.py BUILD
"""
import sys

import numpy
import torch

import mpt.torch
import steps

steps.use(sys.argv[1])
CASES = {"first and last": ((16, 4, 64, 64), (0, 2, 3)),
         "first": ((16384, 8), (0,)),
         "middle": ((2, 30000, 8), (1,)),
         "first and third": ((30, 3, 900, 5), (0, 2)),
         "alternating": ((20, 3, 20, 2, 50), (0, 2, 4))}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.x = torch.nn.ParameterList(
            torch.rand(shape, generator=generator) for shape, _ in CASES.values())


def loss(model):
    sums = [x.sum(axes) for x, (_, axes) in zip(model.x, CASES.values())]
    return {"loss": sum(s.mean() for s in sums),
            **{f"r{index}": s for index, s in enumerate(sums)}}


model = Model()
program = steps.open_step(mpt.torch.export(model, loss, ()), "--mpt-autodiff")
program.run({})
for index, (name, (_, axes)) in enumerate(CASES.items()):
    exact = model.x[index].detach().double().sum(axes).numpy()
    error = numpy.abs(numpy.asarray(program.read(f"r{index}")) / exact - 1).max()
    print(f"{name}:", "exact" if error <= 3e-7 else f"wrong by {error:.1e}")
