# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where autograd stops in a traced graph: `detach`, and regions without gradients."""
from __future__ import annotations

from typing import Callable, Collection, Optional

import torch

from mpt._export.custom_ops import STOP_GRADIENT
from mpt._export.errors import ExportError, line_of


def stops_gradient(node: torch.fx.Node) -> bool:
    """Whether no gradient passes the node."""
    if node.target is STOP_GRADIENT:
        return True
    if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled and not node.args[0]:
        return True
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) \
        and not (value.dtype.is_floating_point or value.dtype.is_complex)


def _writes(node: torch.fx.Node, value: torch.fx.Node) -> bool:
    """Whether `node` changes `value` in place."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable and any(
        argument.alias_info is not None and argument.alias_info.is_write and operand is value
        for argument, operand in
        [*zip(schema.arguments, node.args),
         *((a, node.kwargs.get(a.name)) for a in schema.arguments)])


def _is_view(node: torch.fx.Node, value: torch.fx.Node) -> bool:
    """Whether the result of `node` may lie where `value` lies."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(
        operand is value and argument.alias_info is not None
        for argument, operand in zip(schema.arguments, node.args)) \
        and any(result.alias_info is not None for result in schema.returns)


def _is_written(value: torch.fx.Node) -> bool:
    """Whether a user of `value` changes it in place, or a view of it."""
    return any(_writes(user, value) or _is_view(user, value) and _is_written(user)
               for user in value.users)


def _find_views(value: torch.fx.Node) -> "list[torch.fx.Node]":
    """`value` and what lies where it lies."""
    found = [value]
    for node in found:
        found += [user for user in node.users if _is_view(user, node) and user not in found]
    return found


def _follows_from(node: torch.fx.Node, sources: "Collection[torch.fx.Node]",
                  ends: Callable[[torch.fx.Node], bool]) -> bool:
    """Whether `node` is computed from one of `sources`, on a way past none that `ends`."""
    waiting, seen = [node], {node}
    while waiting:
        node = waiting.pop()
        if node in sources:
            return True
        if not ends(node):
            waiting += [n for n in node.all_input_nodes if n not in seen]
            seen.update(node.all_input_nodes)
    return False


def _changed_input(value: torch.fx.Node) -> "Optional[torch.fx.Node]":
    """The input of a region that is returned after it was changed in place."""
    source = value
    while isinstance(source, torch.fx.Node) and source.args and _writes(source, source.args[0]):
        source = source.args[0]
    return source if source is not value and source.op == "placeholder" else None


def mark_stopped_gradients(program: torch.export.ExportedProgram) -> None:
    """Puts `mpt::stop_gradient` where autograd would stop."""
    parameters = program.graph_signature.inputs_to_parameters
    trained = {n for n in program.graph_module.graph.find_nodes(op="placeholder")
               if n.name in parameters
               and program.state_dict[parameters[n.name]].requires_grad}
    for module in program.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue

        def body_of(node):
            """The body of a region without gradients."""
            if node.target is torch.ops.higher_order.wrap_with_set_grad_enabled \
                    and not node.args[0]:
                return getattr(module, node.args[1].target)
            return None

        def is_changed_by(value, node):
            body = body_of(node)
            return body is not None and any(
                operand is value and _is_written(inner)
                for operand, inner in
                zip(node.args[2:], body.graph.find_nodes(op="placeholder")))

        def has_gradient(node):
            return _follows_from(node, trained, lambda n: stops_gradient(n) or body_of(n))

        def write_through(node):
            """Makes a view without a gradient that is changed in place change what it is a view
            of, which has no gradient then, either."""
            if has_gradient(node.args[0]):
                raise ExportError(
                    "%s:%s: a value that has a gradient is changed in place by .detach() or "
                    ".data; write `y = y + (f(y) - y).detach()` for `y.data = f(y)`"
                    % (line_of(node) or (node.name, 0)))
            views = _find_views(node)
            for writer in {u for v in views for u in v.users if any(_writes(u, w) for w in views)}:
                for value in writer.all_input_nodes:
                    if value not in views and has_gradient(value):
                        with module.graph.inserting_before(writer):
                            stopped = module.graph.call_function(STOP_GRADIENT, (value,))
                        stopped.meta = dict(value.meta)
                        writer.replace_input_with(value, stopped)

        for node in list(module.graph.nodes):
            if node.target in (torch.ops.aten.detach.default, torch.ops.aten.detach_.default):
                if _is_written(node):
                    write_through(node)
                else:
                    node.target = STOP_GRADIENT
            body = body_of(node)
            if body is None:
                continue
            for value in node.args[2:]:
                # PyTorch goes on with the gradient of what the value was.
                if isinstance(value, torch.fx.Node) and value not in trained \
                        and is_changed_by(value, node) and _follows_from(
                            value, trained, lambda n: n.target is STOP_GRADIENT or body_of(n)):
                    raise ExportError(
                        "%s:%s: torch.no_grad() changes a value in place that has a gradient; "
                        "write `y = y + (f(y) - y).detach()` for `y = f(y)`"
                        % (line_of(value) or (value.name, 0)))
            inputs = list(body.graph.find_nodes(op="placeholder"))
            if any(map(_is_written, inputs)):
                # What is written there has no gradient outside.
                for value, inner in zip(node.args[2:], inputs):
                    if isinstance(value, torch.fx.Node) and not _is_written(inner) \
                            and has_gradient(value):
                        with body.graph.inserting_after(inner):
                            stopped = body.graph.call_function(STOP_GRADIENT, (inner,))
                        stopped.meta = dict(inner.meta)
                        inner.replace_all_uses_with(stopped, lambda user: user is not stopped)
            output = next(n for n in body.graph.nodes if n.op == "output")
            # A buffer that is changed there goes on as the buffer, which others may change, too.
            for result in list(node.users):
                source = _changed_input(output.args[0][result.args[1]])
                operand = node.args[2 + inputs.index(source)] if source else None
                # What normalization makes of its statistics has no gradient, unlike a sum of it.
                if operand is not None and not has_gradient(operand) and not any(
                        "_norm" in str(user.target)
                        for value in (*_find_views(operand), *_find_views(result))
                        for user in value.users):
                    result.replace_all_uses_with(operand)
                    module.graph.erase_node(result)
            # What a later region changes in place, as spectral_norm does when its module is
            # called again, may be a buffer: the others that read it get a copy instead.
            shared = set()
            for result in list(node.users):
                value = output.args[0][result.args[1]]
                is_state = isinstance(value, torch.fx.Node) and any(
                    _writes(value, inner) for inner in value.all_input_nodes
                    if inner.op == "placeholder")
                is_changed = any(is_changed_by(result, user) for user in result.users)
                for user in list(result.users):
                    if (is_state or is_changed) and _writes(user, result):
                        raise ExportError(
                            "%s:%s: what torch.no_grad() has changed in place is changed in "
                            "place again outside of it; write `y = y + z` for `y += z`"
                            % (line_of(user) or (user.name, 0)))
                    if is_changed and body_of(user) is None:
                        with module.graph.inserting_before(user):
                            copy = module.graph.call_function(STOP_GRADIENT, (result,))
                        copy.meta = dict(result.meta)
                        user.replace_input_with(result, copy)
                if is_changed:
                    shared.add(result.args[1])
            with body.graph.inserting_before(output):
                results = []
                for index, value in enumerate(output.args[0]):
                    if isinstance(value, torch.fx.Node) and index not in shared:
                        source, value = value, body.graph.call_function(STOP_GRADIENT, (value,))
                        value.meta = dict(source.meta)
                    results.append(value)
            output.args = (type(output.args[0])(results),)
            body.recompile()
        module.recompile()
