"""8-bit codes of tensors with one scale for each block (docs/OptimizerState.md)."""
import functools

import torch


@functools.lru_cache(maxsize=None)
def _table(nonnegative: bool) -> torch.Tensor:
    """The code book of mpt.dynamic_value: 256 numbers in ascending order."""
    rest = (torch.tensor(1.0) - torch.tensor(0.1)).double()
    tenth = torch.tensor(0.1).double()
    numbers = []
    for decade in range(7):
        count = 2 ** (decade + nonnegative)
        i = torch.arange(count + 1).double()
        bounds = torch.where(2 * i < count, tenth + rest / count * i,
                             1 - rest / count * (count - i)).float()
        numbers.append(torch.tensor(10.0 ** (decade - 6)) * ((bounds[:-1] + bounds[1:]) / 2))
    positive = torch.cat([*numbers, torch.ones(1)])
    zero = torch.zeros(1)
    if nonnegative:
        return torch.cat([zero, positive])
    return torch.cat([-positive[:-1].flip(0), zero, positive])


def quantize_blockwise(x: torch.Tensor, block_size: int, nonnegative: bool
                       ) -> "tuple[torch.Tensor, torch.Tensor]":
    """Codes (int8, x's shape) and the largest magnitude of each block, as
    mpt.quantize_blockwise with rounding to the nearest has them; numbers within 2^-14 of the
    middle between two may get either."""
    flat = x.detach().reshape(-1).float()
    blocks = torch.nn.functional.pad(flat, (0, -len(flat) % block_size)).reshape(-1, block_size)
    absmax = blocks.abs().amax(1)
    factor = torch.where(absmax >= 2.0 ** -126, 1 / absmax, torch.zeros(()))
    table = _table(nonnegative)
    scaled = blocks * factor[:, None]
    codes = torch.bucketize(scaled, (table[:-1] + table[1:]) / 2)
    if nonnegative:
        # What is above zero stays so.
        codes = torch.where(scaled > 0, codes.clamp(min=1), codes)
    # The bits of 0 to 255.
    codes = codes.to(torch.uint8).reshape(-1)[:len(flat)].reshape(x.shape).view(torch.int8)
    return codes, absmax


def dequantize_blockwise(codes: torch.Tensor, absmax: torch.Tensor, block_size: int,
                         nonnegative: bool) -> torch.Tensor:
    """The f32 numbers that codes stand for, with the bits of mpt.dequantize_blockwise."""
    numbers = _table(nonnegative)[codes.contiguous().view(torch.uint8).reshape(-1).long()]
    scales = absmax.repeat_interleave(block_size)[:len(numbers)]
    return (numbers * scales).reshape(codes.shape)
