# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which ops are linear in which operands."""
from __future__ import annotations

import operator

import torch
import torch.fx

_aten = torch.ops.aten
# Ops that are linear in their first operand; in one of several; in all together.
_LINEAR = {getattr(_aten, name) for name in """
    _conj _to_copy _unsafe_view alias as_strided avg_pool2d adaptive_avg_pool2d clone contiguous
    cumsum detach_copy diagonal expand expand_as flatten flip gather imag index index_select mean
    movedim narrow neg permute real repeat reshape reshape_as roll select slice split
    split_with_sizes chunk squeeze sum sum_to_size swapaxes t to trace transpose tril triu
    type_as unbind unflatten unfold unsqueeze upsample_bilinear2d upsample_nearest2d view
    view_as""".split() if hasattr(_aten, name)}
_PRODUCTS = {getattr(_aten, name) for name in """
    mul multiply matmul mm bmm mv dot outer conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d convolution linear einsum""".split()}
# In these operands together, each of which may be zero instead.
_TOGETHER = {getattr(_aten, name): places for name, places in dict(
    add=(0, 1), sub=(0, 1), rsub=(0, 1), where=(1, 2), masked_fill=(0, 2), scatter_add=(0, 3),
    index_add=(0, 3), select_scatter=(0, 1), slice_scatter=(0, 1), diagonal_scatter=(0, 1)).items()}
SHAPES_ALONE = {getattr(_aten, name) for name in """
    empty_like full_like new_empty new_full new_ones new_zeros ones_like zeros_like""".split()}
_ZEROS = {getattr(_aten, name) for name in "zeros zeros_like new_zeros".split()}


def is_zero(value) -> bool:
    if not isinstance(value, torch.fx.Node):
        return value == 0
    packet = getattr(value.target, "overloadpacket", None)
    return packet in _ZEROS or (
        packet in (_aten.full, _aten.full_like, _aten.new_full, _aten.scalar_tensor)
        and value.args[0 if packet is _aten.scalar_tensor else 1] == 0)


def is_linear(node: torch.fx.Node, varying: "set[torch.fx.Node]") -> bool:
    """Whether a result of an op is linear in those of its operands that are `varying`."""
    if node.target is operator.getitem or node.target is torch.ops.mpt.independent.default:
        return True
    packet = getattr(node.target, "overloadpacket", None)
    arguments = list(node.args[0]) if packet in (_aten.cat, _aten.stack) else node.args
    places = range(len(arguments)) if packet in (_aten.cat, _aten.stack) \
        else _TOGETHER.get(packet)
    if places is not None:
        return len(arguments) > max(places) and all(
            (argument in varying if isinstance(argument, torch.fx.Node) else False)
            == (number in places) or (number in places and is_zero(argument))
            for number, argument in enumerate(arguments))
    operands = [item for argument in node.args for item in (
        argument if isinstance(argument, (list, tuple)) else [argument])]
    vary = [isinstance(item, torch.fx.Node) and item in varying for item in operands]
    if packet in _PRODUCTS:
        return sum(vary) == 1 and not (packet not in (_aten.mul, _aten.multiply)
                                       and len(operands) > 2 and packet is not _aten.einsum
                                       and operands[2] is not None)
    if packet in (_aten.div, _aten.true_divide, _aten.divide):
        return vary[0] and not any(vary[1:]) and node.kwargs.get("rounding_mode") is None
    # Of gradients, the first operand is that of the result.
    return vary[0] and not any(vary[1:]) and (
        packet in _LINEAR or str(packet).endswith("_backward")
        or packet is _aten.constant_pad_nd and (len(node.args) < 3 or node.args[2] == 0))
