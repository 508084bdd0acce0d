# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients that a loss function asks for itself: `torch.autograd.grad` and `torch.func.grad`.

While a loss is traced, such a call becomes one op, `mpt::grad`, of its outputs, inputs and
gradients of the outputs. A derivative in a direction (`jvp`) is the gradient of a gradient by what that is
linear in. Under `vmap` all rows are differentiated at once if the inputs have rows, which
`torch.func` gives them, and one after another if not. When the graph is functional, `expand` puts in its place what
PyTorch's autograd computes: the nodes between the inputs and the outputs are run under
`make_fx`, and their backward pass is traced. It reads the values that the graph has, and
computes none again but what the backward pass alone needs.
"""
from __future__ import annotations

import operator
from typing import Callable, Sequence

import torch
import torch.fx
from torch.fx.experimental import proxy_tensor
from torch.utils import _pytree as pytree

from mpt._export.linear_ops import SHAPES_ALONE, is_linear, is_zero

_aten = torch.ops.aten
_library = torch.library.Library("mpt", "FRAGMENT")
# `zeros` says that an input that no output depends on has a gradient of zeros.
_library.define("grad(Tensor[] outputs, Tensor[] inputs, Tensor[] grad_outputs, bool zeros) "
                "-> Tensor[]")
_library.impl("grad", lambda outputs, inputs, grad_outputs, zeros: [
    torch.empty_like(x) for x in inputs], "CompositeExplicitAutograd")
# The same of what a torch.autograd.Function's backward() makes of gradients: `function` is its name.
_library.define("of_backward(Tensor[] outputs, Tensor[] inputs, Tensor[] grad_outputs, "
                "str function) -> Tensor[]")
_library.impl("of_backward", lambda outputs, inputs, grad_outputs, function: [
    torch.empty_like(x) for x in inputs], "CompositeExplicitAutograd")
# The identity that a graph keeps: what is differentiated by is a value of its own.
_library.define("independent(Tensor x) -> Tensor")
_library.impl("independent", lambda x: x.clone(), "CompositeExplicitAutograd")
# Rows that are differentiated one after another.
_MOST_ROWS = 256


def _independent_of_rows(info, dims, x):
    return torch.ops.mpt.independent.default(x), dims[0]


def _grad_of_rows(info, dims, outputs, inputs, seeds, zeros):
    """`mpt::grad` under vmap."""
    grad = torch.ops.mpt.of_backward.default if isinstance(zeros, str) \
        else torch.ops.mpt.grad.default
    output_dims, input_dims, seed_dims = dims[:3]
    output_dims, input_dims, seed_dims = (
        [None] * len(group) if group_dims is None else list(group_dims)
        for group, group_dims in zip((outputs, inputs, seeds),
                                     (output_dims, input_dims, seed_dims)))
    if all(dim is not None for dim in input_dims):
        # A row of an output depends on that row of the inputs alone; what has no rows, on none.
        chosen, weights = [], []
        for output, dim, seed, seed_dim in zip(outputs, output_dims, seeds, seed_dims):
            if dim is None:
                seed = seed if seed_dim is None else seed.select(seed_dim, 0)
            elif seed_dim is None:
                seed = seed.unsqueeze(dim).expand_as(output)
            else:
                seed = seed.movedim(seed_dim, dim)
            chosen.append(output)
            weights.append(seed)
        return grad(chosen, inputs, weights, zeros), input_dims
    if any(dim is not None for dim in input_dims):
        raise RuntimeError("torch.autograd.grad under vmap: some inputs have rows, and some do "
                           "not; torch.func.grad gives all of them rows")
    if info.batch_size > _MOST_ROWS:
        raise RuntimeError(f"a Jacobian of {info.batch_size} rows: each is a backward pass of "
                           f"its own, and there may be {_MOST_ROWS}; differentiate sums of rows, "
                           "or let vmap call what is differentiated")

    def row(group, group_dims, number):
        return [x if dim is None else x.select(dim, number) for x, dim in zip(group, group_dims)]
    rows = [grad(row(outputs, output_dims, number), inputs, row(seeds, seed_dims, number), zeros)
            for number in range(info.batch_size)]
    return [torch.stack(found) for found in zip(*rows)], [0] * len(inputs)


def _of_backward_of_rows(info, dims, outputs, inputs, seeds, function):
    return _grad_of_rows(info, dims, outputs, inputs, seeds, function)


torch.library.register_vmap("mpt::of_backward", _of_backward_of_rows, lib=_library)
torch.library.register_vmap("mpt::independent", _independent_of_rows, lib=_library)
torch.library.register_vmap("mpt::grad", _grad_of_rows, lib=_library)


def with_rows(x: torch.Tensor) -> torch.Tensor:
    """`x` as each vmap around sees it, with rows of its own, which are equal where it had
    none."""
    functorch = torch._C._functorch
    try:  # What torch.export sees.
        from torch._functorch.predispatch import _add_batch_dim
    except ImportError:
        _add_batch_dim = functorch._add_batch_dim
    known, inner = set(), x
    while functorch.is_batchedtensor(inner):
        known.add(functorch.maybe_get_level(inner))
        inner = functorch.get_unwrapped(inner)
    for interpreter in functorch.get_interpreter_stack() or []:
        level = interpreter.level()
        if interpreter.key() == functorch.TransformType.Vmap and level not in known:
            size = functorch.CVmapInterpreterPtr(interpreter).batchSize()
            x = x + _add_batch_dim(x.new_zeros(size), 0, level)
    return x


# What autograd calls, as formulas of other ops.
_BACKWARD = """
    _log_softmax_backward_data _softmax_backward_data binary_cross_entropy_backward
    elu_backward embedding_dense_backward gelu_backward glu_backward hardsigmoid_backward
    hardswish_backward hardtanh_backward huber_loss_backward leaky_relu_backward
    log_sigmoid_backward logit_backward mish_backward mse_loss_backward
    native_batch_norm_backward native_dropout_backward native_group_norm_backward
    native_layer_norm_backward
    nll_loss2d_backward nll_loss_backward rrelu_with_noise_backward select_backward
    sigmoid_backward silu_backward slice_backward smooth_l1_loss_backward
    soft_margin_loss_backward softplus_backward tanh_backward threshold_backward
    unfold_backward""".split()
# The same for what gives its backward pass more results than a loss reads.
_FORWARD = """
    _native_batch_norm_legit _native_batch_norm_legit_functional native_batch_norm
    native_group_norm native_layer_norm nll_loss2d_forward nll_loss_forward""".split()

_DROPOUT = (_aten.dropout.default, _aten.native_dropout.default)


def decompositions(
        names: Sequence[str] = _BACKWARD) -> "dict[torch._ops.OpOverload, Callable]":
    """Formulas of the ops of these names that this release of PyTorch has; by default of those
    that autograd calls."""
    return dict(torch._decomp.get_decompositions(
        [getattr(_aten, name) for name in names if hasattr(_aten, name)]))


def patches(refuse_backward: Callable) -> "list[tuple]":
    """Of PyTorch's functions: owner, name, and what stands for it while a loss is traced."""
    import torch._functorch.eager_transforms as transforms

    def grad(outputs, inputs, grad_outputs, create_graph, zeros):
        seeds = []
        for output, seed in zip(outputs, grad_outputs):
            if seed is None and output.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            seeds.append(torch.ones_like(output) if seed is None else seed)
        found = torch.ops.mpt.grad.default(list(outputs), list(inputs), seeds, zeros)
        return tuple(found if create_graph else [g.detach() for g in found])

    def run_backward(outputs, grad_outputs, retain_graph, create_graph, inputs,
                     allow_unused=False, accumulate_grad=False, **named):
        if accumulate_grad:
            refuse_backward()
        return grad(outputs, inputs, grad_outputs, create_graph, allow_unused)

    def copy(tree):
        return pytree.tree_map_only(
            torch.Tensor, lambda x: torch.ops.mpt.independent.default(with_rows(x)), tree)

    def grad_and_value(func, argnums, has_aux, args, kwargs):
        numbers = argnums if isinstance(argnums, tuple) else (argnums,)
        args = list(args)
        for number in numbers:
            args[number] = copy(args[number])
        chosen = tuple(args[n] for n in numbers)
        result = func(*args, **kwargs)
        value = result[0] if has_aux else result
        if not isinstance(value, torch.Tensor) or value.dim() != 0:
            raise RuntimeError("torch.func.grad: expected a function whose result is a scalar")
        leaves, spec = pytree.tree_flatten(
            chosen if isinstance(argnums, tuple) else chosen[0])
        return pytree.tree_unflatten(grad([value], leaves, [None], True, True), spec), result

    def vjp(func, *primals, argnums=None, has_aux=False):
        numbers = range(len(primals)) if argnums is None else \
            argnums if isinstance(argnums, tuple) else (argnums,)
        primals = list(primals)
        for number in numbers:
            primals[number] = copy(primals[number])
        chosen = tuple(primals[n] for n in numbers)
        result = func(*primals)
        outputs, spec = pytree.tree_flatten(result[0] if has_aux else result)
        leaves, chosen_spec = pytree.tree_flatten(
            chosen[0] if isinstance(argnums, int) else chosen)

        def of_seeds(seeds, retain_graph=True, create_graph=None):
            seeds = pytree.tree_flatten(seeds)[0]
            return pytree.tree_unflatten(grad(outputs, leaves, seeds, True, True), chosen_spec)
        value = pytree.tree_unflatten(outputs, spec)
        return (value, of_seeds, result[1]) if has_aux else (value, of_seeds)

    def jvp(func, primals, tangents, argnums, *, strict=False, has_aux=False):
        value, of_seeds, *aux = vjp(func, *primals, argnums=argnums, has_aux=has_aux)
        outputs, spec = pytree.tree_flatten(value)
        # A gradient is linear in its seeds, and its derivative by them is the other way round.
        seeds = [copy(torch.zeros_like(y)) for y in outputs]
        found = pytree.tree_flatten(of_seeds(pytree.tree_unflatten(seeds, spec)))[0]
        found = grad(found, seeds, pytree.tree_flatten(tangents)[0], True, True)
        return (value, pytree.tree_unflatten(list(found), spec), *aux)

    return [(torch.autograd, "_engine_run_backward", run_backward),
            (transforms, "_jvp_with_argnums", jvp),
            (transforms, "grad_and_value_impl", grad_and_value),
            (transforms, "_vjp_with_argnums", vjp)]


def _between(inputs, outputs) -> "list[torch.fx.Node]":
    """The nodes on ways from `inputs` to `outputs`, in order; inputs that depend on none
    of the others are left out."""
    graph = next(iter(inputs)).graph
    above, waiting = set(), list(outputs)
    while waiting:
        node = waiting.pop()
        if node not in above:
            above.add(node)
            waiting += node.all_input_nodes
    found, below = [], set(inputs)
    for node in graph.nodes:
        if node in above and any(n in below for n in node.all_input_nodes):
            below.add(node)
            found.append(node)
    return found


def _expand(node: torch.fx.Node, fail: Callable) -> None:
    outputs, inputs, seeds, zeros = node.args
    body = _between(inputs, outputs)
    members, free = set(body), []
    if node.target is torch.ops.mpt.of_backward.default:
        name, varying = zeros, set(inputs)
        what = (f"backward() of the torch.autograd.Function {name} cannot be exported: it {{}}. Call "
                "the formula of its forward(), with .detach() where the gradient differs, as in "
                "`x + (f(x) - x).detach()` for f with the gradient of x")
        for inner in body:
            if getattr(inner.target, "overloadpacket", None) in SHAPES_ALONE \
                    or not any(operand in varying for operand in inner.all_input_nodes):
                continue
            varying.add(inner)
            if not is_linear(inner, varying):
                fail(inner, what.format(f"calls {inner.target} of a gradient, which is not known to "
                                        "be linear in it"))
        for output in outputs:
            if output not in varying and not is_zero(output):
                fail(output, what.format("returns what does not depend on a gradient"))
        zeros = True
    for inner in body:
        target = inner.target
        if isinstance(target, torch._ops.HigherOrderOperator):
            fail(inner, f"the loss function differentiates {target.name()} itself, which has "
                        "no gradient there; call it outside of what is differentiated")
        # A second run would draw other numbers than the first.
        if torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()) \
                and not (target in _DROPOUT and inner.args[1] == 0):
            fail(inner, f"the loss function differentiates {target} itself, whose random "
                        "numbers would be others in the gradient; call eval(), or draw them "
                        "outside of what is differentiated")
        for operand in inner.all_input_nodes:
            if operand not in members and operand not in free and operand not in inputs:
                free.append(operand)
    for output in (*outputs, *seeds):
        if output not in members and output not in free and output not in inputs:
            free.append(output)
    roots = [n for n in dict.fromkeys(inputs) if n not in members]
    mode = next(v.fake_mode for v in (n.meta["val"] for n in inputs))
    original: "dict[torch.fx.Node, torch.fx.Node]" = {}

    def traced(root_values, free_values):
        tracer = proxy_tensor.get_proxy_mode().tracer
        env = dict(zip([*roots, *free], [*root_values, *free_values]))
        for root in roots:
            env[root] = env[root].detach().requires_grad_()

        def read(value):
            return torch.fx.map_arg(value, env.__getitem__)

        def remember(value, inner):
            slot = proxy_tensor.get_proxy_slot(value, tracer, None) \
                if isinstance(value, torch.Tensor) else None
            if slot is not None:
                original[slot.proxy.node] = inner
        for root in roots:
            remember(env[root], root)
        for inner in body:
            # Gradients pass the identity.
            target = _aten.alias.default if inner.target is torch.ops.mpt.independent.default \
                else inner.target
            env[inner] = target(*read(inner.args), **read(inner.kwargs))
            remember(env[inner], inner)
        of = [(env[y], env[s]) for y, s in zip(outputs, seeds) if env[y].requires_grad]
        if of:
            found = torch.autograd.grad(
                [y for y, _ in of], [env[x] for x in inputs], [s for _, s in of],
                create_graph=True, allow_unused=zeros)
        elif zeros:
            found = [None] * len(inputs)
        else:
            raise RuntimeError("none of the outputs depends on an input; pass "
                               "materialize_grads=True for zeros")
        return [torch.zeros_like(env[x]) if g is None else g for x, g in zip(inputs, found)]

    values = [[n.meta["val"].detach() if isinstance(n.meta["val"], torch.Tensor)
               else n.meta["val"] for n in group] for group in (roots, free)]
    try:
        with mode, torch.enable_grad(), torch.nn.attention.sdpa_kernel(
                torch.nn.attention.SDPBackend.MATH):
            made = proxy_tensor.make_fx(
                traced, decompositions([*_BACKWARD, *_FORWARD]))(*values)
    except Exception as error:  # torch raises many types.
        fail(node, f"torch.autograd.grad of the loss function: {error}")
    graph, result = node.graph, None
    names = iter([*roots, *free])
    copies: "dict[torch.fx.Node, torch.fx.Node]" = {}
    # What the graph has is not computed again.
    for inner in list(made.graph.nodes):
        if inner.op == "placeholder":
            copies[inner] = next(names)
        elif inner in original:
            copies[inner] = original[inner]
    for inner in made.graph.nodes:
        # One whose result is read is what that result is made by.
        if inner not in copies and not inner.users \
                and isinstance(inner.target, torch._ops.OpOverload) \
                and inner.target._schema.is_mutable:
            fail(node, "torch.autograd.grad of the loss function: its gradient changes a tensor "
                       f"in place by {inner.target}; differentiate without this op, or write "
                       "the gradient as formulas")
    needed, waiting = set(), [n for n in made.graph.nodes if n.op == "output"]
    while waiting:
        inner = waiting.pop()
        if inner not in needed and inner not in copies:
            needed.add(inner)
            waiting += inner.all_input_nodes
    with graph.inserting_before(node):
        for inner in made.graph.nodes:
            if inner not in needed:
                continue
            if inner.op == "output":
                result = torch.fx.map_arg(inner.args[0], copies.__getitem__)
            elif inner.target is _aten.detach.default:
                # Autograd's way of saving a value. The loss's own are mpt::stop_gradient.
                copies[inner] = copies[inner.args[0]]
                continue
            elif inner.op == "get_attr":
                constant = getattr(made, inner.target)
                if constant.numel() != 1:
                    fail(node, "torch.autograd.grad of the loss function: a constant tensor "
                               "in its gradient")
                copies[inner] = graph.call_function(
                    _aten.full.default, (list(constant.shape), constant.item()),
                    {"dtype": constant.dtype})
            else:
                copies[inner] = graph.node_copy(inner, copies.__getitem__)
            if inner in copies:
                if inner.op == "get_attr":
                    copies[inner].meta["val"] = mode.from_tensor(constant)
                copies[inner].meta["stack_trace"] = node.meta.get("stack_trace")
    for user in list(node.users):
        assert user.target is operator.getitem
        user.replace_all_uses_with(result[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)


def expand(program: torch.export.ExportedProgram, fail: Callable) -> None:
    """Puts the gradients that the graph asks for in the place of the question.
    `fail(node, message)` raises."""
    for module in program.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in list(module.graph.nodes):
            if node.target in (torch.ops.mpt.grad.default, torch.ops.mpt.of_backward.default):
                _expand(node, fail)
    for module in program.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in list(module.graph.nodes):
            if node.target is torch.ops.mpt.independent.default:
                node.replace_all_uses_with(node.args[0])
                module.graph.erase_node(node)
        module.recompile()
