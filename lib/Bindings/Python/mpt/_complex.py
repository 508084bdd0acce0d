# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex tensors, of which programs and files hold the real and imaginary parts."""
from __future__ import annotations

import torch


def real_view(tensor: torch.Tensor) -> torch.Tensor:
    """What programs hold of a tensor: of a complex one the real and imaginary parts, in a last
    dimension."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def restore(value: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """What a program holds of a tensor, as one of the type of `like`."""
    if like.is_complex():
        value = torch.view_as_complex(value.to(like.real.dtype).contiguous())
    return value.to(like.dtype)
