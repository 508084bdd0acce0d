# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model calls through `torch.utils.checkpoint`, as marks in its graph."""
from __future__ import annotations

import contextlib
import itertools
import warnings

import torch
import torch.fx.traceback
import torch.utils.checkpoint

from mpt._patches import patched

# Of a node: the call of torch.utils.checkpoint that it belongs to.
CHECKPOINT = "mpt_checkpoint"


@contextlib.contextmanager
def mark_checkpoints():
    """While it lasts, `torch.utils.checkpoint` calls its function, and nodes that are
    traced meanwhile have the number of the call in their metadata. PyTorch's own way of
    recomputing is for autograd, and would be traced without what it means."""
    module, trace = torch.utils.checkpoint, torch.fx.traceback
    numbers, depth = itertools.count(), 0

    @contextlib.contextmanager
    def mark():
        nonlocal depth
        depth += 1
        try:
            if depth > 1:  # Of nested calls the outermost counts.
                yield
                return
            if not hasattr(trace, "annotate"):
                warnings.warn("torch.utils.checkpoint is exported as if it was not there: it "
                              "needs PyTorch 2.9 or newer", stacklevel=2)
                yield
                return
            with trace.annotate({CHECKPOINT: next(numbers)}):
                yield
        finally:
            depth -= 1

    def reentrant(function, preserve_rng_state, *arguments):
        with mark():
            return function(*arguments)

    def without_reentrant(*arguments, **named):
        # Advanced before and after the function is called.
        with mark():
            yield

    # What checkpoint() looks up when it is called, however it was imported.
    patches = [(getattr(module, "CheckpointFunction", None), "apply", reentrant),
               (module, "_checkpoint_without_reentrant_generator_impl", without_reentrant),
               (module, "_checkpoint_without_reentrant_generator", without_reentrant)]
    with patched([patch for patch in patches if hasattr(*patch[:2])]), trace.preserve_node_meta():
        yield
