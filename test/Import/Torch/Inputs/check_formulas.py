"""Ops that are converted by formulas of others: the loss and the gradients of a parameter equal
PyTorch's in f64, as closely as PyTorch's in f32 are, times 8."""
import copy
import sys
import warnings

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

import mpt.torch

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
nan = float("nan")


def weigh(result):
    """A sum with a weight for each number."""
    place = torch.arange(result.numel(), dtype=result.dtype).reshape(result.shape)
    return (result * torch.cos(place)).sum() + result.square().mean()


def quantiles(x):
    few = torch.tensor([0.1, 0.5, 0.95], dtype=x.dtype)
    results = [torch.quantile(x, 0.3), torch.quantile(x, 0.25, 0, keepdim=True),
               torch.quantile(x, few, 1), torch.quantile(x, few, -1, keepdim=True),
               torch.quantile(x, few), torch.quantile(x[0, 0], 1.0)]
    for way in ("lower", "higher", "nearest", "midpoint"):
        results.append(torch.quantile(x, 0.45, 1, interpolation=way))
    return sum(weigh(r) for r in results)


def nanquantiles(x):
    holes = torch.zeros_like(x, dtype=torch.bool)
    holes[0, 1:, ::2] = holes[1, :, 0] = True
    x = torch.where(holes, nan, x)
    # Of some rows nothing is left.
    results = [torch.nanquantile(x, 0.3, 1), torch.nanquantile(x, 0.7, 2, keepdim=True),
               x.quantile(0.5, 1), x[0, :1].nanquantile(0.2)]
    return sum(weigh(torch.nan_to_num(r, 0.5)) for r in results)


def renorms(x):
    return sum(weigh(torch.renorm(x, p, dim, most)) for p, dim, most in (
        (2, 0, 2.0), (1, 1, 4.0), (float("inf"), -1, 1.5), (3, 0, 100.0)))


def padded(x):
    parts = [x[0, :2], x[1], x[0, :1]]
    return sum(weigh(torch.nn.utils.rnn.pad_sequence(parts, first, 0.5, side))
               for first, side in ((True, "right"), (False, "left")))


def counts(x):
    """Of places that depend on values; constants are counted when the step is made."""
    place = (x[0].flatten() > 0).long() + 2 * (x[1].flatten() > 0.5).long()
    return weigh(torch.zeros(4, dtype=x.dtype).index_add(0, place, x[0].flatten())
                 / torch.bincount(place, minlength=4).clamp(min=1)) \
        + weigh(torch.bincount(place, minlength=6) * x.sum()) \
        + weigh(torch.bincount(place, place.to(x.dtype) / 3, 5) * x.mean())


def covariances(x):
    x = x.flatten(1)
    often = torch.arange(x.shape[1]) % 3 + 1
    weights = torch.linspace(0.1, 1, x.shape[1], dtype=x.dtype)
    return weigh(torch.cov(x)) + weigh(x.cov(correction=0)) + weigh(torch.cov(x[0])) + \
        sum(weigh(torch.cov(x, **options)) for options in (
            dict(fweights=often), dict(aweights=weights), dict(aweights=weights, correction=0),
            dict(fweights=often, aweights=weights, correction=2))) + \
        weigh(torch.corrcoef(x)) + weigh(x[:1].corrcoef())


def resized(x):
    return sum(weigh(F.interpolate(x, mode=mode, antialias=True, **options))
               for mode in ("bilinear", "bicubic") for options in (
                   dict(size=(3, 4)), dict(size=(13, 5), align_corners=True),
                   dict(scale_factor=(0.45, 1.7)), dict(scale_factor=0.3),
                   dict(scale_factor=0.6, recompute_scale_factor=True)))


def tensors(x):
    a = x.reshape(2, 3, 6) + 4 * torch.eye(6, dtype=x.dtype).reshape(2, 3, 6)
    right = torch.ones(2, 3, dtype=x.dtype) + x[0, 0, 0]
    return weigh(torch.linalg.tensorsolve(a, right)) + \
        weigh(torch.linalg.tensorsolve(a.permute(2, 0, 1), right, dims=(0,))) + \
        weigh(torch.linalg.tensorinv(a, 2)) + \
        weigh(torch.linalg.tensorinv(a.permute(2, 0, 1), 1))


def unpool(x):
    total = 0
    for options in (dict(kernel_size=2), dict(kernel_size=3, stride=2, padding=1),
                    dict(kernel_size=(2, 3), stride=(3, 2), dilation=(2, 1)),
                    dict(kernel_size=3, stride=2, ceil_mode=True)):
        pool = nn.MaxPool2d(return_indices=True, **options)
        y, places = pool(torch.tanh(x))
        total = total + weigh(y) + (places % 7).to(x.dtype).sum()
        if "stride" not in options:
            total = total + weigh(nn.functional.max_unpool2d(y * 2, places, 2)) + \
                weigh(nn.functional.max_unpool2d(y, places, 2, output_size=x.shape[-2:]))
    return total + weigh(nn.functional.max_pool2d(x[0], 2, return_indices=True)[0])


def deformed(offsets):
    def run(x):
        total = 0
        for size, groups, parts, stride, dilation, padding, masked in (
                (3, 1, 1, 1, 1, 1, False), ((2, 3), 2, 1, (2, 1), 1, (1, 0), True),
                (3, 1, 2, 1, 2, 2, True)):
            kernel = torch.Size((size, size) if isinstance(size, int) else size)
            weight = torch.cos(torch.arange(6 * 4 // groups * kernel.numel(), dtype=x.dtype)
                               ).reshape(6, 4 // groups, *kernel) * (1 + x.mean())
            taps, plain = 2 * parts * kernel.numel(), torch.zeros_like(x[:1, :1])
            out = nn.functional.conv2d(
                plain, plain.new_zeros(1, 1, *kernel), None, stride, padding, dilation).shape[-2:]
            rows = x.flatten(1)[:, :1, None, None] * offsets + torch.sin(torch.arange(
                taps * out.numel(), dtype=x.dtype)).reshape(1, taps, *out) * offsets
            mask = torch.sigmoid(rows[:, :taps // 2] + x.mean()) if masked else None
            total = total + weigh(torchvision.ops.deform_conv2d(
                x, rows, weight, weight[:, 0, 0, 0] if masked else None, stride, padding,
                dilation, mask))
        return total
    return run


def regions(x):
    boxes = torch.tensor([[0, 1.0, 1, 8, 8], [1, 2, 3, 10.5, 11.25], [0, -3, -2, 5, 30],
                          [1, 4, 4, 4.25, 4.5], [0, 20, 20, 30, 40]], dtype=x.dtype)
    return sum(weigh(torchvision.ops.roi_align(x, boxes, size, scale, samples, aligned))
               for size, scale, samples, aligned in (
                   (3, 0.5, 2, False), ((2, 4), 0.5, 2, True), (2, 1.0, 1, True),
                   (2, 0.25, 3, False)))


def strided(x):
    """Of tensors that lie in memory in another order, as in the chunks of LED's attention."""
    chunks = x.transpose(0, 1).as_strided((3, 2, 7), (6, 9, 1))
    image = (x * 2).permute(2, 0, 1).as_strided((4, 5), (1, 4), 3)
    return weigh(chunks) + weigh(image)


def pseudoinverses(x):
    return weigh(torch.linalg.pinv(x)) + weigh(torch.linalg.pinv(x.mT, atol=0.1, rtol=0.01)) + \
        weigh(torch.linalg.pinv(x[0, :3] + x[0, :3].mT + torch.eye(3, dtype=x.dtype), hermitian=True))


def matrix_norms(x):
    return weigh(torch.linalg.matrix_norm(x, "nuc")) + weigh(torch.linalg.matrix_norm(x, 2)) + \
        weigh(torch.linalg.matrix_norm(x, -2, dim=(0, 2), keepdim=True)) + \
        weigh(torch.linalg.norm(x[0], "nuc")) + weigh(torch.linalg.norm(x[1], 2)) + \
        weigh(torch.linalg.norm(x[0, 0], 2)) + weigh(torch.linalg.norm(x, -2, dim=-1)) + \
        weigh(torch.norm(x[0], "nuc")) + weigh(torch.linalg.matrix_norm(x, "fro")) + \
        weigh(torch.linalg.matrix_norm(x, 1)) + weigh(torch.linalg.norm(x, 3, dim=1))


def least_squares(x):
    tall, low = x[:, :, :3], x[:, :3].cos()
    found = torch.linalg.lstsq(tall, x[:, :, 3:], driver="gels")
    return weigh(found.solution) + weigh(found.residuals) + \
        weigh(torch.linalg.lstsq(low, x[:, :3, :2]).solution) + \
        weigh(torch.linalg.lstsq(x[0, :, :3], x[1, :, 0]).solution) + \
        weigh(torch.linalg.lstsq(tall, x[:, :, 4]).solution) + \
        torch.linalg.lstsq(tall, x[:, :, 4:]).residuals.numel()


def medians(x):
    kept = torch.where(torch.arange(x.numel()).reshape(x.shape) % 4 == 1, nan, 0.0).to(x.dtype) + x
    few = torch.where(x[0] == x[0], nan, x[0])
    results = [torch.nanmedian(kept), torch.nanmedian(kept, 1)[0], x.nanmedian(-1, keepdim=True)[0]]
    assert not torch.nanmedian(kept, 2)[1].requires_grad
    # Several elements that equal the median, also infinite ones.
    rounded = x[0].round().detach() + (x[0] - x[0].detach())
    infinite = torch.where(x[1] == x[1], float("inf"), x[1]).nanmedian()
    return sum(map(weigh, results)) + few.nanmedian().isnan() * x.sum() + \
        3 * rounded.nanmedian() + infinite.isinf() * x.sum() + 2 * rounded.median() + \
        x.median() + kept.median().isnan() * x.sum()


def contractions(x):
    first, second = x.reshape(3, 5, 7), x.reshape(7, 3, 5).cos()
    return weigh(torch.tensordot(first, second, ([0, 1], [1, 2]))) + \
        weigh(torch.tensordot(first, second, dims=1)) + \
        weigh(torch.tensordot(first[:1], first.sin(), ([0, 2], [0, 2]))) + \
        weigh(torch.tensordot(first[0], first[1], dims=0))


def pairs(x):
    # Of some distances several differences are the largest.
    rounded = x[0].round().detach() + (x[0] - x[0].detach())
    return weigh(F.pdist(rounded, torch.inf)) + weigh(F.pdist(x[0])) + weigh(F.pdist(x[1], 1.0)) + weigh(F.pdist(x[2], 3.0)) + \
        weigh(torch.combinations(x[0, :, 0])) + weigh(torch.combinations(x[0, :, 1], 3)) + \
        weigh(torch.combinations(x[0, :, 2], 2, with_replacement=True))


def memberships(x):
    place = torch.arange(x.numel()).reshape(x.shape) % 9
    return weigh(torch.isin(place, torch.tensor([2, 7])) * x) + \
        weigh(torch.isin(place, torch.tensor([[1, 0], [4, 4]]), invert=True) * x) + \
        weigh(torch.isin(place, 3) * x) + weigh(torch.isin(3, place[0]) * x) + \
        weigh(torch.isin(place, 2.5) * x) + weigh(torch.isin(2.5, place[0]) * x)


def reduced_rows(x):
    index = torch.tensor([2, 0, 2])
    result = weigh(x.new_full((3, 5, 7), 0.5).index_reduce(0, index, x, "prod"))
    for reduce in ("mean", "amax", "amin"):
        for include in (True, False):
            result = result + weigh(x.cos()[:, :3].index_reduce(
                1, index, x[:, 2:], reduce, include_self=include))
    return result


def repeated(x):
    numbers = (x[:, 0, 0] > -100) * torch.tensor([2, 0, 3])
    return weigh(x.repeat_interleave(numbers, 0, output_size=5)) + \
        weigh(x[0].repeat_interleave(torch.tensor([1, 0, 2, 4, 1]), 0)) + \
        weigh(torch.repeat_interleave(x[0, 0, :3], numbers, output_size=5)) + \
        weigh(torch.repeat_interleave(x[0, :, :3], torch.tensor([1, 2, 0]), dim=1))


def weighed_embeddings(x):
    numbers = torch.tensor([[0, 2, 2, 4], [2, 0, 1, 2]])
    table = x[0]
    return weigh(F.embedding(numbers, table, scale_grad_by_freq=True)) + \
        weigh(F.embedding(numbers, x[1], 2, scale_grad_by_freq=True)) + \
        weigh(F.embedding(numbers, x[2]))


def multilabel(x):
    target = torch.tensor([[3, 0, -1, 1, 1, 2, 0], [-1, 0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 6],
                           [6, -1, -1, -1, -1, -1, -1], [2, 2, -1, 0, 0, 0, 0]])
    return F.multilabel_margin_loss(x[0], target) + \
        F.multilabel_margin_loss(x[1], target, reduction="sum") + \
        weigh(F.multilabel_margin_loss(x[2], target, reduction="none")) + \
        F.multilabel_margin_loss(x[0, 0], target[0])


def volumes(x):
    grid = x.detach().permute(0, 2, 3, 4, 1).repeat(1, 1, 1, 1, 2)[..., :3]
    grid = (grid * 0.9).sin() * 1.2
    return sum(weigh(F.grid_sample(x, grid + scale * x[:, :1].permute(0, 2, 3, 4, 1),
                                   mode=mode, padding_mode=padding, align_corners=corners))
               for mode, scale in (("bilinear", 0.1), ("nearest", 0.0))
               for padding in ("zeros", "border") for corners in (False, True))


def last_rows(x):
    """What writes to some places twice leaves, by rows."""
    zero = torch.zeros_like(x[0, 0])
    table = torch.stack([x[1, 0], zero, x[3, 0], zero, x[2, 0]])
    columns = torch.stack([x[0, :, 3], x[0, :, 1], x[0, :, 4]], 1)
    numbers = torch.stack([x[0, 0, 2], x[0, 0, 1] * 0, x[0, 0, 3]])
    return weigh(table) + weigh(columns) + weigh(numbers)


def writes(x):
    """The same, as PyTorch on one thread writes it. Its gradients also reach what was overwritten."""
    place = torch.tensor([0, 0, 4, 2])
    table = torch.zeros_like(x[:1, 0]).repeat(5, 1)
    table[place] = x[:4, 0]
    columns = torch.zeros_like(x[0, :, :3]).index_copy(1, torch.tensor([0, 1, 2, 0, 2]), x[0])
    numbers = torch.zeros_like(x[0, 0, :3]).scatter(0, torch.tensor([0, 2, 0, 2]), x[0, 0, :4])
    return weigh(table) + weigh(columns) + weigh(numbers)


class Holder(nn.Module):
    def __init__(self, shape):
        super().__init__()
        torch.manual_seed(4)
        self.w = nn.Parameter(torch.randn(shape))

    def forward(self, x):
        return self.function(self.w.to(x.dtype) * x)


for name, function, shape in (
        ("quantiles", quantiles, [3, 5, 7]), ("nanquantiles", nanquantiles, [3, 5, 7]),
        ("renorms", renorms, [3, 4, 5]), ("padded", padded, [2, 3, 4]),
        ("counts", counts, [2, 3, 4]), ("covariances", covariances, [3, 4, 5]),
        ("resized", resized, [2, 3, 8, 9]),
        ("tensors", tensors, [2, 3, 6]),
        ("unpool", unpool, [2, 3, 8, 8]), ("deformed", deformed(1.3), [2, 4, 7, 6]),
        ("at pixels", deformed(0.0), [2, 4, 7, 6]), ("regions", regions, [2, 3, 9, 10]),
        ("strided", strided, [3, 4, 5]),
        ("pseudoinverses", pseudoinverses, [2, 5, 3]), ("norms", matrix_norms, [2, 4, 3]),
        ("least squares", least_squares, [2, 5, 6]), ("medians", medians, [3, 5, 7]),
        ("contractions", contractions, [3, 5, 7]), ("pairs", pairs, [3, 5, 7]),
        ("memberships", memberships, [3, 5, 7]), ("reduced rows", reduced_rows, [3, 5, 7]),
        ("repeated", repeated, [3, 5, 7]),
        ("weighed embeddings", weighed_embeddings, [3, 5, 7]),
        ("multilabel", multilabel, [3, 5, 7]), ("volumes", volumes, [2, 2, 3, 4, 5]),
        ("last rows", last_rows, [4, 3, 5])):
    model = Holder(shape)
    model.function = function
    x = torch.ones(())

    def gradient_of(model, x):
        value = model(x)
        value.backward()
        return value.item(), model.w.grad.double()

    try:
        exact = gradient_of(copy.deepcopy(model).double(), x.double())
        single = gradient_of(copy.deepcopy(model), x)
        if function is last_rows:
            assert writes(model.w) == last_rows(model.w)
            model.function = writes
        step = mpt.torch.TrainStep(model, lambda model, x: model(x),
                                   torch.optim.SGD(model.parameters(), 1.0), example=(x,))
        before = model.w.detach().double()
        value = step(x).loss
        ours = value, before - step.state_dict()["w"].double()
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
        continue
    size = max(1, abs(exact[0]), exact[1].abs().max().item())
    apart = [max(abs(a[0] - exact[0]), (a[1] - exact[1]).abs().max().item()) / size
             for a in (ours, single)]
    # The step's own rounding of the parameter is one of f32.
    print(name, "equal" if apart[0] <= 8 * apart[1] + 1e-6 else
          f"differs by {apart[0]}, PyTorch by {apart[1]}")
    sys.stdout.flush()

# Images of several sizes.
features = torchvision.models.squeezenet1_1().features
features.out_channels = 512
model = torchvision.models.detection.RetinaNet(
    features, 5, min_size=(64, 96), anchor_generator=torchvision.models.detection.anchor_utils
    .AnchorGenerator(((16,),), ((1.0,),)))
try:
    mpt.torch.export(model, lambda model, x, boxes: sum(model(
        list(x), [dict(boxes=boxes, labels=torch.ones(1, dtype=torch.long))]).values()),
        (torch.rand(1, 3, 64, 64), torch.tensor([[2.0, 2, 30, 30]])))
except mpt.torch.ExportError as error:
    print("sizes:", str(error).splitlines()[0])
