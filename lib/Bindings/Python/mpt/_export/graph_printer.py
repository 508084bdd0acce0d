# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of torch.fx as ops in torch-mlir's spelling, in MLIR's generic form.

It knows few ops by name: which ones have a counterpart in the `mpt` dialect is decided by
`--mpt-convert-torch`.
"""
from __future__ import annotations

import itertools
import json
import math
import operator
import re
from typing import Optional

import torch

from mpt._export.activation_checkpoints import CHECKPOINT
from mpt._export.custom_ops import RECURRENT
from mpt._export.errors import ExportError, line_of
from mpt._export.exported import real_view

_ELEMENT_TYPES = {
    torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.float64: "f64", torch.int64: "si64", torch.int32: "si32", torch.int16: "si16",
    torch.int8: "si8", torch.uint8: "ui8", torch.bool: "i1",
    torch.complex64: "complex<f32>", torch.complex128: "complex<f64>"}
# c10::ScalarType, the number by which a graph spells a dtype.
_SCALAR_TYPES = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4,
    torch.float16: 5, torch.float32: 6, torch.float64: 7, torch.complex64: 9,
    torch.complex128: 10, torch.bool: 11, torch.bfloat16: 15}
_MEMORY_FORMATS = {
    torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2,
    torch.channels_last_3d: 3}
# Arithmetic on sizes, in the names that torch-mlir has for it.
_SIZE_OPS = {
    operator.add: "torch.aten.add.int", operator.sub: "torch.aten.sub.int",
    operator.mul: "torch.aten.mul.int", operator.floordiv: "torch.aten.floordiv.int"}
# What moves elements and computes nothing, by names without overloads.
_MOVES = {
    "aten." + name for name in (
        "alias", "cat", "clone", "contiguous", "expand", "flip", "index", "index_select",
        "permute", "reshape", "roll", "select", "slice", "squeeze", "stack", "t", "transpose",
        "_unsafe_view", "unsqueeze", "view")}
# Their strides mean the memory of their operand.
_STRIDED = {torch.ops.aten.as_strided.default, torch.ops.aten.as_strided_scatter.default}


def quote(text: str) -> str:
    return '"' + "".join(
        c if " " <= c <= "~" and c not in '"\\' else "".join(f"\\{b:02X}" for b in c.encode())
        for c in text) + '"'


def _spell_float(value: float) -> str:
    if math.isfinite(value):
        return f"{value:.17e}"
    return "0x%016X" % {math.inf: 0x7FF << 52, -math.inf: 0xFFF << 52}.get(value, 0x7FF8 << 48)


def widen(type: str) -> str:
    """The type in which a batch's tensor of uint8 is read: mpt has signed integers only."""
    return type[:-len("ui8>")] + "si16>" if type.endswith(",ui8>") else type


class GraphPrinter:
    """Prints nodes of graphs as ops. `lines` and `constant_lines` are what it has printed."""

    def __init__(self):
        self.lines: "list[str]" = []
        self.constants: "dict[str, str]" = {}  # op -> name
        self.constant_lines: "list[str]" = []
        self.count = 0
        self.indent = "  "

    # Types and names.

    def type_of(self, value) -> str:
        if isinstance(value, torch.Tensor):
            if value.dtype not in _ELEMENT_TYPES:
                raise ExportError(f"tensors of {value.dtype} have no counterpart")
            dims = ",".join(str(d) if isinstance(d, int) else "?" for d in value.shape)
            return f"!torch.vtensor<[{dims}],{_ELEMENT_TYPES[value.dtype]}>"
        if isinstance(value, (bool, torch.SymBool)):
            return "!torch.bool"
        if isinstance(value, (int, torch.SymInt)):
            return "!torch.int"
        if isinstance(value, (float, torch.SymFloat)):
            return "!torch.float"
        if value is None:
            return "!torch.none"
        raise ExportError(f"a value of type {type(value).__name__} in the graph has no "
                          "counterpart")

    def fresh(self) -> str:
        self.count += 1
        return f"%{self.count - 1}"

    def constant(self, kind: str, value: str, type: str, result: Optional[str] = None) -> str:
        """The name of a constant, of which the function has one."""
        attribute = f"<{{value = {value}}}>" if value else ""
        op = f'"torch.constant.{kind}"() {attribute}: () -> {result or "!torch." + type}'
        if op not in self.constants:
            self.constants[op] = f"%c{len(self.constants)}"
            self.constant_lines.append(f"  {self.constants[op]} = {op}")
        return self.constants[op]

    # Operands.

    def operand(self, value, schema: str, env, location) -> "tuple[str, str]":
        """(name, type) of an operand whose type in the schema is `schema`."""
        if isinstance(value, torch.fx.Node):
            return env[value]
        if value is None:
            return self.constant("none", "", "none"), "!torch.none"
        if isinstance(value, bool):
            return self.constant("bool", str(value).lower(), "bool"), "!torch.bool"
        if isinstance(value, int) and not schema.startswith("float"):
            return self.constant("int", f"{value} : i64", "int"), "!torch.int"
        if isinstance(value, (int, float)):
            spelled = _spell_float(float(value))
            return self.constant("float", f"{spelled} : f64", "float"), "!torch.float"
        if isinstance(value, complex):
            return self.literal(torch.tensor(value, dtype=torch.complex128), location)
        if isinstance(value, str):
            return self.constant("str", quote(value), "str"), "!torch.str"
        if isinstance(value, torch.dtype):
            if value not in _SCALAR_TYPES:
                raise ExportError(f"tensors of {value} have no counterpart")
            return self.operand(_SCALAR_TYPES[value], "int", env, location)
        if isinstance(value, torch.memory_format):
            return self.operand(_MEMORY_FORMATS[value], "int", env, location)
        if isinstance(value, torch.layout):
            return self.operand(0, "int", env, location)
        if isinstance(value, torch.device):
            return self.constant("device", quote(str(value)), "Device"), "!torch.Device"
        if isinstance(value, (list, tuple)):
            item = re.sub(r"\[\d*\].*$", "", schema)
            parts = [self.operand(v, item, env, location) for v in value]
            type = {"Tensor": "vtensor", "Tensor?": "optional<vtensor>", "float": "float",
                    "bool": "bool"}.get(item, "int")
            if type == "int" and any(t == "!torch.float" for _, t in parts):
                type = "float"
            type = f"!torch.list<{type}>"
            return self.emit("torch.prim.ListConstruct", parts, [type], location)[0]
        raise ExportError(f"an operand of type {type(value).__name__} has no counterpart")

    def emit(self, name, operands, types, location, attributes="", region=""):
        """Prints one op and returns its results, (name, type) each."""
        results = [(self.fresh(), t) for t in types]
        left = ", ".join(n for n, _ in results) + " = " if results else ""
        right = types[0] if len(types) == 1 else "(" + ", ".join(types) + ")"
        self.lines.append(
            f'{self.indent}{left}"{name}"({", ".join(n for n, _ in operands)}){region}'
            f'{attributes} : ({", ".join(t for _, t in operands)}) -> {right} {location}')
        return results

    def location(self, node) -> str:
        found = line_of(node)
        if found is None:
            return f"loc({quote(node.name)})"
        return f"loc({quote(found[0])}:{found[1]}:1)"

    # The graph.

    def print_node(self, node, env, module):
        location = self.location(node)
        target = node.target
        if target is operator.getitem:
            env[node] = env[node.args[0]][node.args[1]]
            return
        if isinstance(target, torch._ops.HigherOrderOperator):
            env[node] = self.print_higher_order(node, env, module, location)
            return
        if isinstance(target, torch._ops.OpOverload):
            name = "torch." + target.name().replace("::", ".")
            name = name[:-len(".default")] if name.endswith(".default") else name
            name = {"torch.aten.sym_size.int": "torch.aten.size.int",
                    "torch.mpt.stop_gradient": "torch.aten.detach",
                    "torch.mpt.ctc_loss": "torch.aten._ctc_loss.Tensor",
                    **{f"torch.mpt.{n}": f"torch.aten.{n}.input" for n in RECURRENT},
                    # What transformers calls where PyTorch's op lacks a kernel.
                    "torch.transformers.grouped_mm_fallback": "torch.aten._grouped_mm",
                    }.get(name, name)
            if target in _STRIDED and not node.args[0].meta["val"].is_contiguous():
                raise ExportError(f"{location}: {target} of a tensor that is not contiguous: "
                                  "call .contiguous() before it")
            operands = []
            for index, argument in enumerate(target._schema.arguments):
                if index < len(node.args):
                    value = node.args[index]
                else:
                    value = node.kwargs.get(argument.name, argument.default_value)
                operands.append(self.operand(value, str(argument.type).replace(
                    "Optional[Tensor]", "Tensor?").replace("List[Tensor?]", "Tensor?[]")
                    .replace("List[Tensor]", "Tensor[]").replace("List[bool]", "bool[]")
                    .replace("List[float]", "float[]").replace("Optional[float]", "float"),
                    env, location))
        elif target in _SIZE_OPS:
            name = _SIZE_OPS[target]
            operands = [self.operand(v, "int", env, location) for v in node.args]
        else:
            name = f"torch.{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}"
            operands = [self.operand(v, "", env, location) for v in node.args]
        value = node.meta.get("val")
        if isinstance(value, list):  # Tensor[]: a list, then its elements.
            parts = self.emit(name, operands, ["!torch.list<vtensor>"], location)
            env[node] = self.emit("torch.prim.ListUnpack", parts,
                                  [self.type_of(v) for v in value], location)
        elif isinstance(value, tuple):
            env[node] = self.emit(name, operands, [self.type_of(v) for v in value], location)
        elif value is None:
            self.emit(name, operands, [], location)
            env[node] = (self.constant("none", "", "none"), "!torch.none")
        else:
            type = self.type_of(value)
            if isinstance(value, torch.Tensor) and value.dtype == torch.uint8:
                if str(target).rpartition(".")[0] not in _MOVES:
                    raise ExportError(f"{location}: {target} has a result of uint8, in which MPT "
                                      "does not compute: convert its operands, as in x.float()")
                type = widen(type)
            env[node] = self.emit(name, operands, [type], location)[0]

    def print_higher_order(self, node, env, module, location):
        """Regions are printed in place."""
        name = node.target.name()
        arguments = list(node.args)
        if name == "wrap_with_set_grad_enabled":
            enabled, body, *inputs = arguments
            results = self.print_body(body, inputs, env, module)
            if enabled:
                return results
            # What is computed without gradients has none outside.
            return [self.emit("torch.aten.detach", [r], [r[1]], location)[0] for r in results]
        if name == "tag_activation_checkpoint":
            body, *inputs = arguments
            return self.print_checkpoint(
                lambda: self.print_body(body, inputs, env, module), location)
        remedy = ("; remove the autocast region, MPT chooses precision itself"
                  if "autocast" in name else "")
        raise ExportError(f"{location}: the higher-order op {name} has no counterpart{remedy}")

    def print_checkpoint(self, body, location):
        """Prints what `body` prints as a region, which gives what `body` returns."""
        outer, self.lines = self.lines, []
        self.indent += "  "
        results = body()
        self.emit("torch.checkpoint.yield", results, [], location)
        self.indent = self.indent[:-2]
        lines, self.lines = self.lines, outer
        region = " ({\n" + "\n".join(lines) + "\n" + self.indent + "})"
        return self.emit("torch.checkpoint", [], [t for _, t in results], location,
                         region=region)

    def print_nodes(self, nodes, env, module):
        """Prints calls; those of one torch.utils.checkpoint as a region."""
        calls = [n for n in nodes if n.op == "call_function"]
        for number, group in itertools.groupby(
                calls, key=lambda n: (n.meta.get("custom") or {}).get(CHECKPOINT)):
            group = list(group)
            if number is None:
                for node in group:
                    self.print_node(node, env, module)
            else:
                self.print_marked(group, env, module)

    def print_marked(self, group, env, module):
        members, used = set(group), []

        def body():
            for node in group:
                self.print_node(node, env, module)
            used.extend(n for n in group if any(u not in members for u in n.users))
            results = [r for n in used
                       for r in (env[n] if isinstance(env[n], list) else [env[n]])]
            if any("vtensor" not in type for _, type in results):
                raise ExportError(
                    f"{self.location(group[-1])}: torch.utils.checkpoint: a size that is "
                    "computed inside is used outside; compute it before the call")
            return results

        results = iter(self.print_checkpoint(body, self.location(group[-1])))
        for node in used:
            env[node] = [next(results) for _ in env[node]] \
                if isinstance(env[node], list) else next(results)

    def print_body(self, body, inputs, env, module):
        graph_module = getattr(module, body.target)
        nodes = list(graph_module.graph.nodes)
        values = iter(inputs)
        inner = {n: self.operand(next(values), "", env, "")
                 for n in nodes if n.op == "placeholder"}
        self.print_nodes(nodes, inner, graph_module)
        output = next(n for n in nodes if n.op == "output")
        return [inner[v] for v in output.args[0]]

    def literal(self, tensor: torch.Tensor, location: str) -> "tuple[str, str]":
        """A tensor that is part of the text."""
        tensor = tensor.detach().cpu().contiguous()
        if tensor.is_complex():
            return self.emit("torch.aten.view_as_complex",
                             [self.literal(real_view(tensor), location)],
                             [self.type_of(tensor)], location)[0]
        type = self.type_of(tensor)
        element = _ELEMENT_TYPES[tensor.dtype]
        builtin = f"tensor<{''.join(f'{d}x' for d in tensor.shape)}{element}>"
        if tensor.dtype == torch.bool:
            value = json.dumps(tensor.tolist())
        else:
            value = '"0x' + tensor.reshape(-1).view(torch.uint8).numpy().tobytes().hex().upper() + '"'
        if tensor.numel() == 0:
            value = ""
        return self.emit("torch.vtensor.literal", [], [type], location,
                         attributes=f" <{{value = dense<{value}> : {builtin}}}>")[0]
