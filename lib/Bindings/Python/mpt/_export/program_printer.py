# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An exported program as a function of MLIR."""
from __future__ import annotations

import torch
from torch.export.graph_signature import InputKind, OutputKind

from mpt._export.errors import ExportError
from mpt._export.exported import Exported
from mpt._export.graph_printer import GraphPrinter, quote, widen
from mpt._export.stopped_gradients import stops_gradient
from mpt._names import RESULT_NAMES, rename


class ProgramPrinter(GraphPrinter):
    """Prints one exported program."""

    def __init__(self, program, module, names, targets, trainable, like, is_loss, renamed):
        super().__init__()
        self.program = program
        self.module = module
        self.names = names
        self.targets = targets
        self.trainable = trainable
        self.like = like
        self.is_loss = is_loss
        self.renamed = renamed  # keys of state_dict() that are not the mpt.name
        self.weights: "dict[str, torch.Tensor]" = {}

    def print(self) -> Exported:
        program, env = self.program, {}
        arguments, results = [], []
        specs = {s.arg.name: s for s in program.graph_signature.input_specs}
        tensors = dict(self.module.named_parameters(remove_duplicate=False))
        first: "dict[int, tuple[str, str]]" = {}  # by identity: tied parameters are one
        names = iter(self.names)
        owner: "dict[str, str]" = {}  # state's name in the program -> mpt.name
        trained: "list[str]" = []
        placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
        reached = self.find_reached(specs, tensors)
        for node in placeholders:
            spec, value = specs[node.name], node.meta["val"]
            if spec.kind == InputKind.USER_INPUT:
                if not isinstance(value, torch.Tensor):
                    raise ExportError(f"input {node.name}: expected a tensor, found "
                                      f"{type(value).__name__}")
                name = next(names)
                role = "target" if name in self.targets else "input"
            elif spec.kind == InputKind.PARAMETER or (
                    spec.kind == InputKind.BUFFER and spec.persistent):
                name = spec.target[len("model."):] if spec.target.startswith("model.") \
                    else spec.target
                name = self.renamed.get(name, name)
                tensor = tensors.get(spec.target)
                if tensor is None:
                    tensor = program.state_dict[spec.target]
                if id(tensor) in first:
                    env[node] = first[id(tensor)]
                    continue
                trains = spec.kind == InputKind.PARAMETER and id(tensor) in self.trainable \
                    and id(tensor) in reached
                if self.like is not None:
                    if trains and name not in self.like.trained:
                        raise ExportError(
                            f"the loss of this batch depends on {name}, that of the example "
                            "does not: give an example whose loss depends on all parameters "
                            "that train")
                    trains = name in self.like.trained
                if trains:
                    trained.append(name)
                role = "parameter" if trains else "running_stat"
                owner[spec.target] = name
                self.weights[name] = tensor
            else:
                tensor = program.constants[spec.target]
                env[node] = self.literal(tensor, f"loc({quote(spec.target)})")
                continue
            argument = f"%arg{len(arguments)}"
            spelled = self.type_of(value)
            env[node] = argument, \
                spelled if spec.kind != InputKind.USER_INPUT else widen(spelled)
            if spec.kind != InputKind.USER_INPUT:
                first[id(tensor)] = env[node]
            arguments.append(f"    {argument}: {env[node][1]} {{mpt.name = {quote(name)}, "
                             f"mpt.role = {quote(role)}}} loc({quote(name)})")
        nodes = list(program.graph.nodes)
        self.print_nodes(nodes, env, program.graph_module)
        output = next(n for n in nodes if n.op == "output")
        values = list(zip(output.args[0], program.graph_signature.output_specs))
        user = [(v, s) for v, s in values if s.kind == OutputKind.USER_OUTPUT]
        state = [(v, s) for v, s in values if s.kind == OutputKind.BUFFER_MUTATION]
        written = [(v, s) for v, s in values if s.kind.name == "PARAMETER_MUTATION"]
        # Others are changed by views of them, which have no gradient afterwards.
        known = {f"model.{name}" for name in self.module.found.written}
        changed = [owner[s.target] for _, s in written
                   if id(tensors[s.target]) in self.trainable and s.target not in known]
        if changed:
            raise ExportError(
                f"the function changes parts of {len(changed)} of the model's parameters that "
                f"train in place ({', '.join(changed[:3])}{', ..' if len(changed) > 3 else ''}) by "
                "views of them; change them as a whole, as in `with torch.no_grad(): "
                "weight.copy_(new)`, or between steps, after step.sync_to(model)")
        # The others are state, as buffers are.
        state += written
        given = dict(zip((n for n, s in specs.items() if s.kind == InputKind.USER_INPUT),
                         self.names))
        for _, spec in values:
            if spec.kind.name not in ("USER_OUTPUT", "BUFFER_MUTATION", "PARAMETER_MUTATION"):
                name = given.get(spec.target, spec.target)
                raise ExportError(f"the function changes its input {name} in place; pass it a "
                                  f"copy, {name}.clone()")
        labels = self.output_names(len(user))
        stateful = set(owner.values())
        taken = {*self.names, *stateful}
        result_names: "dict[str, str]" = {}  # mpt.name -> label
        for label in labels:
            name = label
            if label != "loss":
                name = rename(label, taken, RESULT_NAMES, stateful)
            taken.add(name)
            result_names[name] = label
        spelled = list(result_names)
        order = sorted(range(len(user)), key=lambda i: labels[i] != "loss")
        for index in order:
            value, _ = user[index]
            if not isinstance(value, torch.fx.Node):
                raise ExportError(f"result {labels[index]}: expected a tensor, found "
                                  f"{type(value).__name__}")
            if labels[index] == "loss" and self.is_loss:
                found = value.meta["val"]
                if found.dim() != 0 or not found.dtype.is_floating_point:
                    raise ExportError(
                        "the loss: expected a floating-point scalar, found a tensor of "
                        f"shape {list(found.shape)} and {found.dtype}; reduce it, for "
                        "instance by .mean()")
            results.append((env[value], f"{{mpt.name = {quote(spelled[index])}}}"))
        for value, spec in state:
            if spec.target not in owner:
                raise ExportError(f"the function changes the buffer {spec.target}, which is "
                                  "not persistent; register it with persistent=True")
            name = owner[spec.target]
            results.append((env[value], f"{{mpt.name = {quote(name + '.next')}, "
                                        f"mpt.updates = {quote(name)}}}"))
        types = ", ".join(f"{v[1]} {a}" for v, a in results)
        text = "\n".join(
            ["// PyTorch " + torch.__version__ + ", exported by mpt.torch.",
             *(f"// {quote(key)} is called {quote(name)} here: MPT keeps the name for itself."
               for key, name in self.renamed.items() if name in self.weights),
             "func.func @loss(", ",\n".join(arguments) + ")", f"    -> ({types}) {{"]
            + self.constant_lines + self.lines
            + [f"  return {', '.join(v[0] for v, _ in results)} : "
               f"{', '.join(v[1] for v, _ in results)}", "}", ""])
        return Exported(text, self.weights, self.names, result_names, trained,
                        self.module.found.outside,
                        [owner[name] for name in known if owner.get(name) in trained])

    def find_reached(self, specs, tensors) -> "set[int]":
        """The `id`s of parameters that the loss has a gradient for; of a function that is no
        loss, those of all."""
        if not self.is_loss:
            return {id(tensor) for tensor in tensors.values()}
        output = next(n for n in self.program.graph.nodes if n.op == "output")
        user = [value for value, spec in zip(output.args[0],
                                             self.program.graph_signature.output_specs)
                if spec.kind == OutputKind.USER_OUTPUT]
        loss = user[self.output_names(len(user)).index("loss")]
        seen, rest = set(), [loss]
        while rest:
            node = rest.pop()
            if node in seen or not isinstance(node, torch.fx.Node) or stops_gradient(node):
                continue
            seen.add(node)
            rest += node.all_input_nodes
        return {id(tensors[specs[node.name].target]) for node in seen
                if node.op == "placeholder" and specs[node.name].target in tensors}

    def output_names(self, count):
        """What the loss function's results are called."""
        spec = self.program.call_spec.out_spec
        if spec is not None and spec.type is dict:
            keys = [str(k) for k in spec.context]
            nested = [key for key, child in zip(keys, spec.children()) if not child.is_leaf()]
            if nested or len(keys) != count:
                raise ExportError("the loss function's dictionary: expected tensors only"
                                  + (f", found more under {', '.join(nested)}" if nested else ""))
            if self.is_loss and "loss" not in keys:
                raise ExportError("the loss function's dictionary: expected the key \"loss\", "
                                  f"found {', '.join(keys)}")
            return keys
        if count != 1:
            raise ExportError(f"the loss function: expected a scalar or a dictionary with "
                              f"\"loss\", found {count} results")
        return ["loss"]
