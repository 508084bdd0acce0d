"""How much of a network's first gradient is a matter of rounding.

    check_rounding.py MODEL [--size=64] [--batch=2] [--seed=0] [--spread]

MODEL is one of torchvision, or of timm with `timm:` before it.

Prints how far loss and gradient norm are from those of PyTorch in f64: of MPT, of PyTorch, of
PyTorch with images stored as channels_last (both f32), and of PyTorch in f64 where one number
before a ReLU has the other sign, for the numbers nearest to 0, in parts of the root mean
square of its layer. A gradient norm that changes with the sign of such a number is not
determined by f32. The last line is PyTorch in f64 with the signs that MPT's numbers before
ReLUs have, and how many of them are others, and how large.

With --spread: how far the gradient norms of MPT, of PyTorch and of PyTorch with channels_last
are from PyTorch's in f64, for the images, four times with each of their numbers one unit in the
last place more or less, and for three other batches; and the median of these. Where MPT's are as
far as those of PyTorch in its two layouts, it is chance how far a single one is.
"""
import argparse
import copy

import torch
import torchvision
from torch.nn import functional

import mpt.torch


def loss(model, x, y):
    return functional.cross_entropy(model(x), y)


def run(model, x, y):
    value = loss(model, x, y)
    value.backward()
    square = sum(p.grad.double().square().sum() for p in model.parameters())
    return value.item(), square.sqrt().item()


def flip(model, x, y, show):
    """Shows what one ReLU of the other sign makes of the gradient, for eight of them."""
    relus = {name: m for name, m in model.named_modules() if isinstance(m, torch.nn.ReLU)}
    nearest = []

    def record(name, value):
        size = value.detach().abs() / value.detach().square().mean().sqrt()
        nearest.append((size.min().item(), name, size.argmin().item()))

    def negate(value, place):
        change = torch.zeros_like(value)
        change.view(-1)[place] = -2 * value.detach().reshape(-1)[place]
        return value + change

    hooks = [relu.register_forward_pre_hook(lambda _, values, name=name: record(name, values[0]))
             for name, relu in relus.items()]
    loss(copy.deepcopy(model), x, y)
    for hook in hooks:
        hook.remove()
    for size, name, place in sorted(nearest)[:8]:
        other = copy.deepcopy(model)
        dict(other.named_modules())[name].register_forward_pre_hook(
            lambda _, values, place=place: (negate(values[0], place),))
        show(f"f64, {size:.0e} at {name} negated:", run(other, x, y))


def take_signs(model, x, y):
    """MPT's loss and gradient norm in a program that also returns the numbers before ReLUs,
    PyTorch's in f64 with their signs, how many are others, and the largest of these."""
    def record(model, store):
        relus = [m for m in model.modules() if isinstance(m, torch.nn.ReLU)]
        return [relu.register_forward_pre_hook(
            lambda _, values, index=index: store(index, values[0]))
            for index, relu in enumerate(relus)]

    def with_numbers(model, x, y):
        numbers = {}
        hooks = record(model, lambda index, value: numbers.__setitem__(
            f"relu{index}", value.clone()))
        result = {"loss": loss(model, x, y), **numbers}
        for hook in hooks:
            hook.remove()
        return result

    mine = mpt.torch.TrainStep(model, with_numbers, torch.optim.SGD(model.parameters(), 0.1),
                               (x, y))(x, y)
    sizes = []

    def change(index, value):
        number = value.detach()
        others = (mine[f"relu{index}"] > 0) != (number > 0)
        sizes.extend((number[others].abs() / number.square().mean().sqrt()).tolist())
        return (value - 2 * torch.where(others, number, 0),)

    exact = copy.deepcopy(model).double()
    record(exact, change)
    return ((mine.loss, mine.grad_norm), run(exact, x.double(), y), len(sizes),
            max(sizes, default=0))


def without_dropout(model):
    for module in model.modules():
        if isinstance(module, (torch.nn.Dropout, torchvision.ops.StochasticDepth)):
            module.p = 0.0
        if type(module).__name__ == "DropPath":
            module.drop_prob = 0.0
    return model


def make(name):
    if name.startswith("timm:"):
        import timm
        return timm.create_model(name[5:], num_classes=10)
    folder = torchvision.models
    if hasattr(folder.segmentation, name):
        model = getattr(folder.segmentation, name)(weights=None, weights_backbone=None,
                                                   num_classes=10)
        model.register_forward_hook(lambda module, inputs, found: found["out"].mean((2, 3)))
        return model
    return getattr(folder, name)(weights=None, num_classes=10)


def spread(model, x, y, step):
    errors = {"MPT": [], "PyTorch": [], "PyTorch, channels_last": []}
    generator, last = torch.Generator().manual_seed(1), torch.channels_last
    for trial in range(8):
        if 0 < trial < 5:
            sign = torch.randint(0, 2, x.shape, generator=generator) * 2 - 1
            images = x * (1 + sign * 2.0 ** -23)
        else:
            images = torch.randn(x.shape, generator=generator) if trial else x
        exact = run(copy.deepcopy(model).double(), images.double(), y)[1]
        found = (step(images, y).grad_norm, run(copy.deepcopy(model), images, y)[1],
                 run(copy.deepcopy(model).to(memory_format=last),
                     images.contiguous(memory_format=last), y)[1])
        for values, norm in zip(errors.values(), found):
            values.append(abs(norm / exact - 1))
    for name, values in errors.items():
        print(f"{name}:", *(f"{value:.0e}" for value in values),
              f"median {torch.tensor(values).median():.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    for name, value in (("size", 64), ("batch", 2), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--spread", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    model = without_dropout(make(options.model))
    x = torch.randn(options.batch, 3, options.size, options.size)
    y = torch.randint(0, 10, (options.batch,))
    # No step changes a parameter.
    step = mpt.torch.TrainStep(model, loss, torch.optim.SGD(model.parameters(), 0.0), (x, y))
    if options.spread:
        return spread(model, x, y, step)
    exact = run(copy.deepcopy(model).double(), x.double(), y)
    print("f64: loss %.7g, gradient norm %.7g" % exact)

    def show(what, value):
        print(what, *("%.7g (%.0e)" % (a, abs(a / b - 1)) for a, b in zip(value, exact)),
              flush=True)

    result = step(x, y)
    show("MPT:", (result.loss, result.grad_norm))
    show("PyTorch:", run(copy.deepcopy(model), x, y))
    last = torch.channels_last
    show("PyTorch, channels_last:", run(copy.deepcopy(model).to(memory_format=last),
                                        x.contiguous(memory_format=last), y))
    flip(copy.deepcopy(model).double(), x.double(), y, show)
    mine, theirs, count, largest = take_signs(copy.deepcopy(model), x, y)
    show("MPT, returning the numbers before ReLUs:", mine)
    show(f"f64 with MPT's signs of these, {count} of them others, up to {largest:.0e}:", theirs)


if __name__ == "__main__":
    main()
