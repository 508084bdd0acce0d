# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes over an exported graph before it is printed."""
from __future__ import annotations

import torch
from torch.export.graph_signature import InputKind

# What a graph says about its sizes and values.
_ASSERTIONS = {
    torch.ops.aten._assert_scalar.default, torch.ops.aten._assert_async.msg,
    torch.ops.aten._assert_async.default, torch.ops.aten._assert_tensor_metadata.default,
    torch.ops.aten.sym_constrain_range.default,
    torch.ops.aten.sym_constrain_range_for_size.default}


def join_tied(program: torch.export.ExportedProgram) -> None:
    """One argument for a parameter or buffer that two modules have. PyTorch refuses to make a graph functional
    that changes one of two arguments in the same memory."""
    first: "dict[int, torch.fx.Node]" = {}
    nodes = {n.name: n for n in program.graph.find_nodes(op="placeholder")}
    specs = program.graph_signature.input_specs
    for spec in list(specs):
        tensor = (program.state_dict.get(spec.target)
                  if spec.kind in (InputKind.BUFFER, InputKind.PARAMETER) else None)
        if tensor is None:
            continue
        node = nodes[spec.arg.name]
        kept = first.setdefault(id(tensor), node)
        if kept is not node:
            node.replace_all_uses_with(kept)
            program.graph.erase_node(node)
            specs.remove(spec)
    program.graph_module.recompile()


def order_strided(module: torch.fx.GraphModule) -> None:
    """`as_strided` counts elements as they lie in memory: it gets tensors whose dimensions are in
    another order, but have no gaps, in that order."""
    for node in module.graph.nodes:
        if node.target is not torch.ops.aten.as_strided.default:
            continue
        value = node.args[0].meta["val"]
        if value.is_contiguous() or not all(isinstance(n, int) for n in value.shape):
            continue
        order = sorted(range(value.dim()), key=lambda dim: (-value.stride(dim), dim))
        if value.permute(order).is_contiguous():
            with module.graph.inserting_before(node):
                ordered = module.graph.call_function(
                    torch.ops.aten.permute.default, (node.args[0], order))
            ordered.meta.update(node.meta, val=value.permute(order))
            node.replace_input_with(node.args[0], ordered)


def drop_assertions(graph_module: torch.fx.GraphModule) -> None:
    """Removes what the graph asserts about its values, and what is computed for that."""
    for module in graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in reversed(list(module.graph.nodes)):
            value = node.meta.get("val")
            if node.op == "call_function" and not node.users and (
                    node.target in _ASSERTIONS
                    or isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))):
                module.graph.erase_node(node)
        module.recompile()
