# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas of ops that the conversion does not know, by ops that it knows.

They take the places of the ops when a graph is made functional. Each has its op's operands and
results, and, as its derivative, the op's gradient.
"""
from __future__ import annotations

import itertools
import math
from typing import Callable, NamedTuple

import torch

from mpt._export.custom_ops import STOP_GRADIENT

_aten = torch.ops.aten


def _pair(x) -> "list[int]":
    x = [x] if isinstance(x, int) else list(x)
    return x * 2 if len(x) == 1 else x


# Order statistics.

def _quantile(x, q, dim, keepdim, interpolation, ignores_nan):
    vector = isinstance(q, torch.Tensor) and q.dim() == 1
    q = q if isinstance(q, torch.Tensor) else x.new_full((), q)
    if dim is None:
        shape = [1] * x.dim()
        x, dim = x.reshape(-1), 0
    else:
        shape = [1 if i == dim % x.dim() else size for i, size in enumerate(x.shape)]
    x = x.movedim(dim, -1)
    last = torch.sort(x, dim=-1)[0]  # NaN comes last.
    nan = torch.isnan(x)
    count = (~nan).sum(-1, keepdim=True).to(x.dtype) if ignores_nan else float(x.shape[-1])
    place = q.reshape([-1] + [1] * x.dim()) * (count - 1)
    place = place.clamp(min=0).expand([-1, *x.shape[:-1], 1])

    def take(place):
        return torch.gather(last.expand(place.shape[0], *last.shape), -1, place.long())
    low, high = place.floor(), place.ceil()
    if interpolation == "lower":
        result = take(low)
    elif interpolation == "higher":
        result = take(high)
    elif interpolation == "nearest":
        result = take(place.round())
    else:
        weight = torch.full_like(place, 0.5) if interpolation == "midpoint" else place - low
        result = torch.lerp(take(low), take(high), weight.to(x.dtype))
    if not ignores_nan:
        result = torch.where(nan.any(-1, keepdim=True), math.nan, result)
    result = result.squeeze(-1)
    if keepdim:
        result = result.reshape([result.shape[0], *shape])
    return result if vector else result.squeeze(0)


def quantile(x, q, dim=None, keepdim=False, *, interpolation="linear"):
    return _quantile(x, q, dim, keepdim, interpolation, False)


def nanquantile(x, q, dim=None, keepdim=False, *, interpolation="linear"):
    return _quantile(x, q, dim, keepdim, interpolation, True)


def nanmedian_of_rows(x, dim, keepdim=False):
    """Values, and their places, which PyTorch's gradient goes to."""
    values, places = torch.sort(x, dim=dim)  # NaN comes last.
    count = (~torch.isnan(x)).sum(dim, keepdim=True) if x.is_floating_point() else \
        torch.full_like(places.narrow(dim, 0, 1), x.shape[dim])
    middle = ((count - 1).clamp(min=0)).div(2, rounding_mode="floor")
    found = [torch.gather(t, dim, middle) for t in (values, places)]
    return tuple(t if keepdim else t.squeeze(dim) for t in found)


def nanmedian(x):
    """Its gradient goes in equal parts to all elements that equal it."""
    value = nanmedian_of_rows(x.reshape(-1), 0)[0]
    if not x.is_floating_point():
        return value
    value = STOP_GRADIENT(value)
    equal = x == value
    # Infinity minus infinity is no zero.
    chosen = torch.where(equal & torch.isfinite(x), x, 0.0)
    return value + (chosen - STOP_GRADIENT(chosen)).sum() / equal.sum().clamp(min=1)


def renorm(x, p, dim, maxnorm):
    others = [i for i in range(x.dim()) if i != dim % x.dim()]
    norm = torch.linalg.vector_norm(x, p, others, keepdim=True)
    return x * torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)


def renorm_rows(weight, indices, max_norm, norm_type):
    """`embedding_renorm_`: of the rows that are looked up, those of a larger norm get this one."""
    count = torch.zeros_like(weight[:, 0]).index_add(
        0, indices.reshape(-1), torch.ones_like(indices.reshape(-1), dtype=weight.dtype))
    return torch.where((count > 0).unsqueeze(1), renorm(weight, norm_type, 0, max_norm), weight)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    length = max(x.shape[0] for x in sequences)

    def pad(x):
        missing = [0, length - x.shape[0]]
        return torch.nn.functional.pad(x, [0, 0] * (x.dim() - 1) + (
            missing if padding_side == "right" else missing[::-1]), value=padding_value)
    return torch.stack([pad(x) for x in sequences], 0 if batch_first else 1)


def bincount(x, weights=None, minlength=0):
    """With as many bins as `minlength` says. What adds to the result, or divides by it, expects
    no more."""
    if not minlength:
        return NotImplemented
    ones = torch.ones_like(x) if weights is None else weights
    return torch.zeros([minlength], dtype=ones.dtype, device=x.device).index_add(0, x, ones)


def cov(x, *, correction=1, fweights=None, aweights=None):
    """torch.cov, which asks for the sum of its weights."""
    x = x.reshape(1, -1) if x.dim() < 2 else x
    weights = [w.to(x.real.dtype) for w in (fweights, aweights) if w is not None]
    if not weights:
        number = x.shape[1]
        centered = x - x.mean(1, keepdim=True)
        product = centered @ centered.mT.conj()
        return (product / max(number - correction, 0) if number > correction
                else product * math.inf).squeeze()
    weight = math.prod(weights[1:], start=weights[0])
    total = weight.sum()
    centered = x - (x * weight).sum(1, keepdim=True) / total
    number = total if aweights is None or not correction else \
        (weight * aweights.to(weight.dtype)).sum() / total
    number = total - correction * (number if aweights is not None else 1)
    return ((centered * weight) @ centered.mT.conj() / number.clamp(min=0)).squeeze()


def corrcoef(x):
    found = cov(x)
    if not found.dim():
        return found / found
    deviation = found.diagonal().real.sqrt() if found.is_complex() else found.diagonal().sqrt()
    return (found / deviation.unsqueeze(1) / deviation.unsqueeze(0)).clip(-1, 1) \
        if not found.is_complex() else found / deviation.unsqueeze(1) / deviation.unsqueeze(0)


# Sums over several dimensions, pairs of rows, and rows at places.

def tensordot(a, b, dims_a, dims_b):
    dims_a, dims_b = ([d % t.dim() for d in dims] for t, dims in ((a, dims_a), (b, dims_b)))
    for first, second in zip(dims_a, dims_b):  # One of both may be broadcast.
        if a.shape[first] == 1 != b.shape[second]:
            b = b.sum(second, keepdim=True)
        elif b.shape[second] == 1 != a.shape[first]:
            a = a.sum(first, keepdim=True)
    rows, columns = ([i for i in range(t.dim()) if i not in dims]
                     for t, dims in ((a, dims_a), (b, dims_b)))
    count = math.prod(a.shape[d] for d in dims_a)
    result = a.permute(rows + dims_a).reshape(-1, count) @ b.permute(dims_b + columns).reshape(
        count, -1)
    return result.reshape([a.shape[d] for d in rows] + [b.shape[d] for d in columns])


def pdist(x, p=2.0):
    if p == math.inf:  # The gradient is that of cdist.
        return torch.cdist(x, x, p)[torch.triu_indices(
            x.shape[0], x.shape[0], 1, device=x.device).unbind()]
    first, second = zip(*itertools.combinations(range(x.shape[0]), 2))
    first, second = (torch.tensor(places, device=x.device) for places in (first, second))
    return torch.linalg.vector_norm(x.index_select(0, first) - x.index_select(0, second), p, -1)


def combinations(x, r=2, with_replacement=False):
    choose = itertools.combinations_with_replacement if with_replacement \
        else itertools.combinations
    places = list(choose(range(x.shape[0]), r))
    return x[torch.tensor(places, device=x.device)] if places and r else x.new_empty((0, r))


def isin(x, among, *, assume_unique=False, invert=False):
    kind = torch.result_type(x, among)
    x, among = (t if isinstance(t, torch.Tensor) else torch.scalar_tensor(t, dtype=kind)
                for t in (x, among))
    found = (x.unsqueeze(-1) == among.reshape(-1)).any(-1)
    return ~found if invert else found


def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    shape = [1] * source.dim()
    shape[dim] = -1
    return x.scatter_reduce(dim, index.reshape(shape).expand(source.shape), source, reduce,
                            include_self=include_self)


def repeat_interleave(x, repeats, dim=None, *, output_size=None):
    """Into as many rows as `output_size` says. If they are more or fewer, a place is one that is
    out of range, which is an error when the step runs."""
    if output_size is None:
        return NotImplemented
    if dim is None:
        x, dim = x.reshape(-1), 0
    ends = repeats.expand(x.shape[dim]).cumsum(0)
    places = torch.arange(output_size, device=x.device, dtype=ends.dtype)
    places = torch.searchsorted(ends, places, right=True)
    return x.index_select(dim, torch.where(ends[-1:] == output_size, places, x.shape[dim]))


# Embeddings whose gradients are sparse, which makes no difference to their values, or weighted.

def _weigh_gradient(rows, share):
    """`rows` with `share` times their gradient."""
    return STOP_GRADIENT(rows) + share * (rows - STOP_GRADIENT(rows))


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if not scale_grad_by_freq:
        return _aten.embedding(weight, indices, padding_idx) if sparse else NotImplemented
    ones = torch.ones_like(indices.reshape(-1), dtype=weight.dtype)
    count = ones.new_zeros(weight.shape[0]).index_add(0, indices.reshape(-1), ones)
    share = (1 / count.clamp(min=1))[indices].unsqueeze(-1)
    return _weigh_gradient(_aten.embedding(weight, indices, padding_idx), share)


def embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                  per_sample_weights, include_last_offset, padding_idx):
    if scale_grad_by_freq or not sparse:
        return NotImplemented
    return _aten.embedding_bag.padding_idx(weight, indices, offsets, False, mode, False,
                                           per_sample_weights, include_last_offset, padding_idx)


def multinomial(p, num_samples, replacement=False, *, generator=None):
    """By exponential random numbers (Efraimidis and Spirakis, 2006), as PyTorch's own."""
    if replacement and num_samples > 1:
        p = p.unsqueeze(-2).expand([*p.shape[:-1], num_samples, p.shape[-1]])
    # A random 0 may not choose what has probability 0. f16 has no number as small as the least one.
    p = p.to(torch.promote_types(p.dtype, torch.float32))
    keys = p / (-torch.log1p(-torch.rand_like(p))).clamp(min=2.0 ** -25)
    if replacement:
        return keys.argmax(-1, keepdim=num_samples == 1)
    return keys.topk(num_samples, dim=-1)[1]


def multilabel_margin_loss(x, target, reduction=1):
    """Targets are the classes before the first -1 of a row."""
    is_vector = x.dim() < 2
    x, target = (t.reshape(1, -1) if is_vector else t for t in (x, target))
    valid = (target >= 0).to(x.dtype).cumprod(1)
    classes = target.clamp(min=0)
    chosen = torch.zeros_like(x).scatter_add(1, classes, valid) > 0
    margins = (1 - x.gather(1, classes).unsqueeze(2) + x.unsqueeze(1)).clamp(min=0)
    margins = torch.where(chosen.unsqueeze(1), 0.0, margins).sum(2)
    losses = torch.where(valid > 0, margins, 0.0).sum(1) / x.shape[1]
    if reduction:
        return losses.mean() if reduction == 1 else losses.sum()
    return losses.squeeze(0) if is_vector else losses


# Images in another size, with a filter as wide as the pixels of the smaller one.

def _filter(size, result, align_corners, scale, cubic, like):
    """[result, size]: the weight of each pixel."""
    if align_corners:
        step = (size - 1) / (result - 1) if result > 1 else 0.0
    else:
        step = 1 / scale if scale else size / result
    reach = (2.0 if cubic else 1.0) * max(step, 1.0)
    kind = dict(dtype=like.dtype, device=like.device)
    center = ((torch.arange(result, **kind) + 0.5) * step).unsqueeze(1)
    place = torch.arange(size, **kind)
    inside = (place >= torch.floor(center - reach + 0.5)) & (
        place < torch.floor(center + reach + 0.5))
    t = ((place - center + 0.5) / max(step, 1.0)).abs()
    if cubic:  # a = -0.5, as Pillow has it.
        weight = torch.where(t < 1, (1.5 * t - 2.5) * t * t + 1,
                             torch.where(t < 2, ((-0.5 * t + 2.5) * t - 4) * t + 2, 0.0))
    else:
        weight = (1 - t).clamp(min=0)
    weight = torch.where(inside, weight, 0.0)
    return weight / weight.sum(1, keepdim=True)


def _resize(cubic):
    def resize(x, output_size, align_corners, scale_factors):
        sizes = list(x.shape[-2:])
        scales = list(scale_factors or [None, None])
        output_size = output_size or [math.floor(n * s) for n, s in zip(sizes, scales)]
        rows, columns = (_filter(n, m, align_corners, s, cubic, x)
                         for n, m, s in zip(sizes, output_size, scales))
        return rows @ (x @ columns.mT)
    return resize


# Linear systems.

def tensorsolve(a, b, dims=None):
    if dims is not None:
        kept = [i for i in range(a.dim()) if i not in [d % a.dim() for d in dims]]
        a = a.permute(kept + [d % a.dim() for d in dims])
    shape = a.shape[b.dim():]
    return torch.linalg.solve(a.reshape(b.numel(), -1), b.reshape(-1)).reshape(shape)


def tensorinv(a, ind=2):
    rows = math.prod(a.shape[:ind])
    return torch.linalg.inv(a.reshape(rows, -1)).reshape(*a.shape[ind:], *a.shape[:ind])


def pinv(a, *, atol=None, rtol=None, hermitian=False):
    """By singular values, also of Hermitian matrices. What is not above the tolerance counts as
    zero, also in the derivative; PyTorch's gradient is another where that makes a difference."""
    u, values, v = torch.linalg.svd(a, full_matrices=False)
    least = torch.zeros_like(values[..., :1])
    if rtol is None and atol is None:
        rtol = max(a.shape[-2:]) * torch.finfo(a.dtype).eps
    for tolerance, size in ((atol, 1.0), (rtol, values[..., :1].detach())):
        if isinstance(tolerance, torch.Tensor):
            tolerance = tolerance.to(a.dtype).unsqueeze(-1)
        if tolerance is not None:
            least = torch.maximum(least, tolerance * size * torch.ones_like(least))
    counts = values > least
    inverse = torch.where(counts, 1 / torch.where(counts, values, 1.0), 0.0)
    return (v.mT * inverse.unsqueeze(-2)) @ u.mT


class LeastSquares(NamedTuple):
    """What `torch.linalg.lstsq` returns. QR finds neither rank nor singular values."""
    solution: torch.Tensor
    residuals: torch.Tensor
    rank: None = None
    singular_values: None = None


def lstsq(a, b, rcond=None, *, driver=None):
    """By QR, of matrices of full rank. Those with fewer rows than columns have the solution of
    least norm. PyTorch's own op looks at the rank while it is traced."""
    rows, columns = a.shape[-2:]
    is_vector = b.dim() == 1 or b.shape == a.shape[:-1]
    b = b.unsqueeze(-1) if is_vector else b
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = a.expand(*batch, rows, columns), b.expand(*batch, *b.shape[-2:])
    if rows >= columns:
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        q, r = torch.linalg.qr(a.mT)
        x = q @ torch.linalg.solve_triangular(r.mT, b, upper=False)
    # As on CPUs, where the default, gelsy, computes none.
    residuals = (a @ x - b).square().sum(-2) if rows > columns \
        and driver not in (None, "gelsy") else a.new_empty(0)
    return LeastSquares(x.squeeze(-1) if is_vector else x, residuals)


def _norm_of_singular_values(x, dims, keepdim, dtype, reduce):
    first, second = (d % x.dim() for d in dims)
    x = x if dtype is None else x.to(dtype)
    result = reduce(torch.linalg.svdvals(x.movedim((first, second), (-2, -1))))
    return result.unsqueeze(min(first, second)).unsqueeze(max(first, second)) if keepdim else result


def matrix_norm(x, order=None, dim=(-2, -1), keepdim=False, *, dtype=None):
    """Those that are of singular values; other orders are left to the conversion."""
    reduce = {"nuc": lambda v: v.sum(-1), 2: lambda v: v.amax(-1),
              -2: lambda v: v.amin(-1)}.get(order)
    return NotImplemented if reduce is None else _norm_of_singular_values(
        x, dim, keepdim, dtype, reduce)


def linalg_norm(x, order=None, dim=None, keepdim=False, *, dtype=None):
    """`linalg.norm`: of a matrix where there are two dimensions, else of vectors."""
    dims = (-2, -1) if dim is None and x.dim() == 2 else dim
    if not isinstance(dims, (list, tuple)) or len(dims) != 2:
        return NotImplemented
    return matrix_norm(x, order, dims, keepdim, dtype=dtype)


def nuclear_norm(x, dim=(-2, -1), keepdim=False):
    return matrix_norm(x, "nuc", dim, keepdim)


# Pooling with the places of the largest.

def max_pool2d_with_indices(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    h, w = x.shape[-2:]
    kernel, padding, dilation = _pair(kernel_size), _pair(padding), _pair(dilation)
    stride = _pair(stride) if stride not in ((), [], None) else kernel

    def count(i, size):
        reach = size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1
        windows = (-(-reach // stride[i]) if ceil_mode else reach // stride[i]) + 1
        # The last begins in the image or the padding before it.
        return windows - (ceil_mode and (windows - 1) * stride[i] >= size + padding[i])
    rows, columns = count(0, h), count(1, w)
    low = torch.finfo(x.dtype).min if x.is_floating_point() else torch.iinfo(x.dtype).min
    needed = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(
        (rows, columns), stride, dilation, kernel)]
    place = torch.arange(h * w, device=x.device).reshape([1] * (x.dim() - 2) + [h, w])

    def windows(t, fill):
        after = [max(n - size - p, 0) for n, size, p in zip(needed, (h, w), padding)]
        t = torch.nn.functional.pad(t, [padding[1], after[1], padding[0], after[0]], value=fill)
        parts = [t[..., i * dilation[0]:i * dilation[0] + (rows - 1) * stride[0] + 1:stride[0],
                   j * dilation[1]:j * dilation[1] + (columns - 1) * stride[1] + 1:stride[1]]
                 for i in range(kernel[0]) for j in range(kernel[1])]
        return torch.stack(parts, -1)
    values, places = windows(x, low), windows(place, 0)
    best = values.argmax(-1, keepdim=True)
    index = torch.gather(places.expand(values.shape), -1, best).squeeze(-1)
    return torch.gather(values, -1, best).squeeze(-1), index


def max_unpool2d(x, indices, output_size):
    h, w = output_size
    flat = torch.zeros([*x.shape[:-2], h * w], dtype=x.dtype, device=x.device)
    return flat.scatter(-1, indices.flatten(-2), x.flatten(-2)).reshape([*x.shape[:-2], h, w])


# Volumes at places between voxels.

def grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners):
    """Of volumes [N, C, D, H, W], by the nearest voxel or the eight around. Images are left to the
    conversion."""
    if x.dim() != 5:
        return NotImplemented
    if padding_mode == 2:
        raise RuntimeError("grid_sample of volumes with padding_mode=\"reflection\"; pass "
                           "\"border\" or \"zeros\"")
    sizes = x.shape[2:]
    places = []
    for size, line in zip(sizes, reversed(grid.unbind(-1))):
        line = (line + 1) / 2 * (size - 1) if align_corners else ((line + 1) * size - 1) / 2
        places.append(line.clamp(0, size - 1) if padding_mode == 1 else line)
    flat, result = x.flatten(2), 0
    if interpolation_mode == 1:
        corners = [([STOP_GRADIENT(p).round() for p in places], None)]
    else:
        low = [STOP_GRADIENT(p).floor() for p in places]
        corners = []
        for steps in itertools.product((0, 1), repeat=3):
            weight = math.prod((p - b) if step else 1 - (p - b)
                               for p, b, step in zip(places, low, steps))
            corners.append(([b + step for b, step in zip(low, steps)], weight))
    for corner, weight in corners:
        inside, index = True, 0
        for place, size in zip(corner, sizes):
            inside = inside & (place >= 0) & (place <= size - 1)
            index = index * size + place.clamp(0, size - 1).long()
        found = flat.gather(2, index.flatten(1).unsqueeze(1).expand(-1, x.shape[1], -1))
        found = torch.where(inside.flatten(1).unsqueeze(1), found, 0.0)
        result = result + (found if weight is None else found * weight.flatten(1).unsqueeze(1))
    return result.reshape(*x.shape[:2], *grid.shape[1:4])


# torchvision's.

def _bilinear(x, batch, row, column, border):
    """x [N, C, H, W] at fractions of pixels, [.., P], of image `batch`, [.., 1]: [.., P, C].
    Outside there are zeros; from `border` on, or between the last pixel and the end of it, the
    last pixel's."""
    count, channels, h, w = x.shape
    pixels = x.permute(0, 2, 3, 1).reshape(-1, channels)
    inside = (row > -1) & (row < h) & (column > -1) & (column < w) if border is None else \
        (row >= -border) & (row <= h) & (column >= -border) & (column <= w)
    if border is not None:
        row, column = row.clamp(0, h - 1), column.clamp(0, w - 1)
    top, left = row.detach().floor(), column.detach().floor()
    # Between pixels; at one, the derivative is that to the next.
    shares = [[1 - part, part] for part in (row - top, column - left)]
    result = 0
    for down in (0, 1):
        for right in (0, 1):
            i, j = (top + down).long(), (left + right).long()
            weight = shares[0][down] * shares[1][right]
            valid = inside & (i >= 0) & (i < h) & (j >= 0) & (j < w)
            at = (batch * h + i.clamp(0, h - 1)) * w + j.clamp(0, w - 1)
            result = result + pixels[at] * torch.where(valid, weight, 0.0).unsqueeze(-1)
    return result


def deform_conv2d(x, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h,
                  dilation_w, groups, offset_groups, use_mask):
    """Dai et al., 2017; with a mask Zhu et al., 2019."""
    count, channels, h, w = x.shape
    filters, _, kernel_h, kernel_w = weight.shape
    rows, columns = offset.shape[-2:]
    taps, part = kernel_h * kernel_w, channels // offset_groups
    offset = offset.reshape(count, offset_groups, taps, 2, rows, columns)

    def places(size, stride, pad, dim):
        line = torch.arange(size, device=x.device, dtype=x.dtype) * stride - pad
        return line.reshape([size if i == dim else 1 for i in range(2)])
    tap = torch.arange(taps, device=x.device)
    row = places(rows, stride_h, pad_h, 0) + offset[:, :, :, 0] + \
        (tap // kernel_w * dilation_h).to(x.dtype).reshape(taps, 1, 1)
    column = places(columns, stride_w, pad_w, 1) + offset[:, :, :, 1] + \
        (tap % kernel_w * dilation_w).to(x.dtype).reshape(taps, 1, 1)
    images = x.reshape(count * offset_groups, part, h, w)
    batch = torch.arange(count * offset_groups, device=x.device).reshape(-1, 1)
    shape = [count * offset_groups, taps * rows * columns]
    found = _bilinear(images, batch, row.reshape(shape), column.reshape(shape), None)
    found = found.reshape(count, offset_groups, taps, rows * columns, part)
    if use_mask:
        found = found * mask.reshape(count, offset_groups, taps, rows * columns, 1)
    # [N, pixels, C, taps] by groups.
    found = found.permute(0, 3, 1, 4, 2).reshape(count, rows * columns, groups, -1)
    result = torch.einsum("npgk,gfk->ngfp", found,
                          weight.reshape(groups, filters // groups, -1))
    return result.reshape(count, filters, rows, columns) + bias.reshape(1, -1, 1, 1)


def roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    """He et al., 2017. The number of samples in a bin must be given. Boxes have no gradient."""
    rois = rois.detach()
    if sampling_ratio <= 0:
        raise RuntimeError("roi_align with sampling_ratio <= 0, where the number of samples "
                           "depends on the boxes; pass 2, as the detectors of torchvision do")
    batch = rois[:, 0].long().reshape(-1, 1)
    left, top, right, bottom = (rois[:, i] * spatial_scale - (0.5 if aligned else 0.0)
                                for i in range(1, 5))
    width, height = right - left, bottom - top
    if not aligned:
        width, height = width.clamp(min=1.0), height.clamp(min=1.0)

    def samples(begin, size, bins):
        steps = bins * sampling_ratio
        line = (torch.arange(steps, device=x.device, dtype=x.dtype) + 0.5) / steps
        return begin.unsqueeze(1) + size.unsqueeze(1) * line
    row, column = samples(top, height, pooled_height), samples(left, width, pooled_width)
    shape = [rois.shape[0], row.shape[1], column.shape[1]]
    found = _bilinear(x, batch, row.unsqueeze(2).expand(shape).flatten(1),
                      column.unsqueeze(1).expand(shape).flatten(1), 1)
    found = found.reshape(shape[0], pooled_height, sampling_ratio, pooled_width, sampling_ratio, -1)
    return found.mean((2, 4)).permute(0, 3, 1, 2)


# Ops without a counterpart, and what to write instead.
_LU = "call torch.linalg.solve(a, b), or torch.linalg.det and slogdet for determinants"
_SIZE = ("its result has as many elements as the values say, where a step has the same shapes for "
         "all batches: compute it outside of the loss function and pass it padded, or of constants")
_EIGEN = "call torch.linalg.eigh or eigvalsh for a symmetric matrix, or svdvals"
_REMEDIES = {
    **dict.fromkeys(("linalg_lu_factor", "linalg_lu_factor_ex", "linalg_lu", "linalg_lu_solve",
                     "lu_solve", "lu_unpack", "_lu_with_info"), _LU),
    **dict.fromkeys(("unique_dim", "_unique", "_unique2", "unique_consecutive",
                     "unique_dim_consecutive"), _SIZE),
    **dict.fromkeys(("linalg_eig", "linalg_eigvals", "_linalg_eigvals"), _EIGEN),
    **dict.fromkeys(("polygamma", "special_polygamma", "special_zeta"),
                    "of these functions there is digamma alone, with its gradient; pass the values in "
                    "the batch"),
    "mode": "for classes take torch.bincount(x, minlength=n).argmax()"}


def refuse_without_formula(module: torch.fx.GraphModule,
                           fail: Callable[[torch.fx.Node, str], None]) -> None:
    """An error at an op that neither a formula nor the conversion has."""
    for part in module.modules():
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
            if isinstance(node.target, torch._ops.OpOverload) and node.target.namespace == "aten":
                remedy = _REMEDIES.get(node.target.overloadpacket.__name__)
                if remedy:
                    fail(node, f"{node.target} has no counterpart: {remedy}")


def _reads_places(program: torch.export.ExportedProgram) -> bool:
    """Whether the indices that a max pooling returns are used."""
    return any(user.args[1] == 1 for module in program.graph_module.modules()
               if isinstance(module, torch.fx.GraphModule) for node in module.graph.nodes
               if node.target is _aten.max_pool2d_with_indices.default for user in node.users)


def formulas(program: torch.export.ExportedProgram) -> "dict[torch._ops.OpOverload, object]":
    """Those for `program` by op. torchvision need not be there."""
    table = {_aten.quantile.default: quantile, _aten.quantile.scalar: quantile,
             _aten.nanquantile.default: nanquantile, _aten.nanquantile.scalar: nanquantile,
             _aten.renorm.default: renorm, _aten.pad_sequence.default: pad_sequence,
             _aten.linalg_tensorsolve.default: tensorsolve,
             _aten.linalg_tensorinv.default: tensorinv, _aten.max_unpool2d.default: max_unpool2d,
             _aten.linalg_pinv.atol_rtol_tensor: pinv, _aten.linalg_pinv.atol_rtol_float: pinv}
    table.update({_aten.linalg_matrix_norm.default: matrix_norm,
                  _aten.linalg_matrix_norm.str_ord: matrix_norm,
                  _aten.linalg_norm.default: linalg_norm,
                  _aten.linalg_norm.ord_str: linalg_norm,
                  _aten.nuclear_norm.dim: nuclear_norm,
                  _aten.nuclear_norm.default:
                      lambda x, keepdim=False: nuclear_norm(x, keepdim=keepdim)})
    table[_aten.bincount.default] = bincount
    for op, formula in (
            (_aten.nanmedian.default, nanmedian), (_aten.nanmedian.dim, nanmedian_of_rows),
            (_aten.tensordot.default, tensordot), (_aten.pdist.default, pdist),
            (_aten._pdist_forward.default, pdist), (_aten.combinations.default, combinations),
            (_aten.isin.Tensor_Tensor, isin), (_aten.isin.Tensor_Scalar, isin),
            (_aten.isin.Scalar_Tensor, isin), (_aten.index_reduce.default, index_reduce),
            (_aten.repeat_interleave.self_Tensor, repeat_interleave),
            (_aten.embedding.default, embedding),
            (_aten.embedding_bag.padding_idx, embedding_bag),
            (_aten.multinomial.default, multinomial), (_aten.grid_sampler.default, grid_sampler),
            (_aten.multilabel_margin_loss.default, multilabel_margin_loss)):
        table[op] = formula
    table[_aten._upsample_bilinear2d_aa.vec] = _resize(cubic=False)
    table[_aten._upsample_bicubic2d_aa.vec] = _resize(cubic=True)
    if _reads_places(program):
        table[_aten.max_pool2d_with_indices.default] = max_pool2d_with_indices
    for name, formula in (("deform_conv2d", deform_conv2d), ("roi_align", roi_align)):
        if hasattr(torch.ops.torchvision, name):
            table[getattr(torch.ops.torchvision, name).default] = formula
    return table
