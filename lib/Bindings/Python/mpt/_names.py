# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that a training step keeps for itself."""
from __future__ import annotations

import re
from typing import Collection

# What the passes that make a training step call their own state and results, and what no
# step may use (docs/PyTorch.md).
STEP_NAMES = re.compile(
    r"mpt\..*|__metadata__|loss|lr(\.step|\.group\d+)?|learning_rate|step|attempt|seed"
    r"|grad_norm(\.mean|\.variance|\.count|\.spikes|\.group\d+)?|is_spike|did_step"
    r"|(loss_scale|found_inf)(\..*)?|fp8\.(amax_history|scale)")
# Results become columns of metrics, which have some of their own.
RESULT_NAMES = re.compile(STEP_NAMES.pattern + r"|grad\..*|run|epoch|ms")


def rename(name: str, taken: "Collection[str]", reserved: "re.Pattern" = STEP_NAMES,
           state: "Collection[str]" = ()) -> str:
    """`name`, or one like it that is neither taken nor reserved, nor begins with the name
    of `state` and a dot: the step has `w.exp_avg` and more for a parameter `w`."""
    first, dot, rest = name.partition(".")

    def is_free():
        candidate = first + dot + rest
        return not (candidate in taken or reserved.fullmatch(candidate) or any(
            candidate[:at.start()] in state for at in re.finditer(r"\.", candidate)))

    while not is_free():
        first += "_"
    return first + dot + rest
