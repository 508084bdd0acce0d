"""A TensorFlow graph as `tf` dialect text, and under Grappler's auto_mixed_precision."""

import os
import re
import tempfile

# Read when TensorFlow loads; the bfloat16 mode needs oneDNN, which is not the default
# on every CPU.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
os.environ["TF_CPP_VMODULE"] = "meta_optimizer=1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, device_properties_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.grappler import cluster, tf_optimizer

MAC_OPS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum", "Conv2D", "Conv2DBackpropInput",
           "Conv2DBackpropFilter", "DepthwiseConv2dNative",
           "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter")
LOW = {"cuda": tf.float16, "bf16": tf.bfloat16}
ELEMENT = {tf.float32: "f32", tf.float64: "f64", tf.float16: "f16", tf.bfloat16: "bf16",
           tf.bool: "i1", tf.int8: "i8", tf.uint8: "ui8", tf.int16: "i16", tf.int32: "i32",
           tf.int64: "i64", tf.string: "!tf_type.string", tf.variant: "!tf_type.variant"}


def sizes(tensor):  # None: unknown rank; -1: unknown size
    if tensor.shape.rank is None:
        return None
    return [-1 if size is None else size for size in tensor.shape.as_list()]


def check_exported(graph, node):
    """Raises ValueError for a node that needs more than one graph without cycles."""
    called = [function.name for value in node.attr.values()
              for function in [value.func, *value.list.func] if function.name]
    if called:
        raise ValueError(
            f"{graph}: node '{node.name}' ({node.op}) calls {', '.join(called)}; functions are "
            "not exported. Write loops and branches that Python runs while it builds the graph "
            "(for, if, with autograph off) instead of tf.while_loop and tf.cond, and call Python "
            "functions instead of tf.functions")
    if node.op.endswith("NextIteration"):
        raise ValueError(
            f"{graph}: node '{node.name}' ({node.op}) closes a cycle, which is not exported. "
            "Unroll the loop: let Python run it while it builds the graph")


class Graph:
    """A function's graph: the part that the results need."""

    def __init__(self, name, function, specs):
        self.name = name
        self.graph = tf.function(function, autograph=False).get_concrete_function(*specs).graph
        self.arguments = [tensor.op.name for tensor in self.graph.inputs]
        self.results = [tensor.name for tensor in self.graph.outputs]
        self.graph_def = tf.compat.v1.graph_util.extract_sub_graph(
            self.graph.as_graph_def(),
            list(dict.fromkeys(self.arguments + [name.split(":")[0] for name in self.results])))
        for node in self.graph_def.node:
            check_exported(name, node)
        kept = {node.name for node in self.graph_def.node}
        self.operations = [op for op in self.graph.get_operations() if op.name in kept]
        self.shapes = {tensor.name: sizes(tensor)
                       for op in self.operations for tensor in op.outputs}

    @classmethod
    def training(cls, name, model):
        """A model's loss and gradients, or its whole step."""
        parameters, inputs = list(model.parameters), list(model.inputs)
        slots = [f"{slot}_{key}" for slot in "mv" for key in parameters] if model.adam else []
        shapes = {**model.parameters, **{key: model.parameters[key[2:]] for key in slots}}
        specs = [tf.TensorSpec(shape, tf.float32, name=key) for key, shape in shapes.items()]
        specs += [tf.TensorSpec(shape, dtype, name=key)
                  for key, (shape, dtype) in model.inputs.items()]

        def loss_and_results(*values):
            state = dict(zip(shapes, values))
            p = {key: state[key] for key in parameters}
            loss = model.loss(p, dict(zip(inputs, values[len(shapes):])))
            gradients = [tf.convert_to_tensor(gradient)
                         for gradient in tf.gradients(loss, list(p.values()))]
            if not model.adam:
                return [loss] + gradients
            results = []
            for key, gradient in zip(parameters, gradients):
                m = 0.9 * state["m_" + key] + 0.1 * gradient
                v = 0.999 * state["v_" + key] + 0.001 * tf.square(gradient)
                results += [p[key] - 1e-3 * m / (tf.sqrt(v) + 1e-8), m, v]
            return [loss] + results

        return cls(name, loss_and_results, specs)

    @classmethod
    def chain(cls, nodes):
        """Products, pointwise ops and a skip connection: about so many nodes."""
        spec = tf.TensorSpec((64, 64), tf.float32)

        def body(x, w):
            last = skip = x
            for i in range(nodes // 5):
                product = tf.raw_ops.MatMul(a=last, b=w)
                tanh = tf.raw_ops.Tanh(x=product)
                last = skip = tf.raw_ops.AddV2(x=tf.raw_ops.Mul(x=tanh, y=product), y=skip)
                if i % 2:
                    last = tf.raw_ops.Mul(x=tf.raw_ops.Exp(x=last), y=tanh)
            return last

        return cls(f"chain{nodes}", body, [spec, spec])

    def shape(self, name):  # of "node" or "node:port"
        return self.shapes[name if ":" in name else name + ":0"]


# --- MLIR text ---------------------------------------------------------------


def tensor_type(tensor):
    shape = sizes(tensor)
    text = "*x" if shape is None else "".join("?x" if n < 0 else f"{n}x" for n in shape)
    return "tensor<" + text + ELEMENT[tensor.dtype] + ">"


def string_attribute(value):
    text = value.decode() if isinstance(value, bytes) else value
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def float_text(value):
    return f"{value:.17e}"


def dense_attribute(value, element):
    """The elements of a tensor: one for a splat, bytes for long f32 ones."""
    if value.dtype == np.bool_:
        text = lambda element: "true" if element else "false"
    elif value.dtype.kind == "f":
        text = lambda element: float_text(float(element))
    else:
        text = lambda element: str(int(element))
    shape = "".join(f"{size}x" for size in value.shape)
    kind = f"tensor<{shape}{element}>"
    if value.size == 0:
        return f"dense<> : {kind}"
    if value.size > 1 and (value == value.flat[0]).all() or value.ndim == 0:
        return f"dense<{text(value.flat[0])}> : {kind}"
    if value.dtype == np.float32:
        return f'dense<"0x{value.tobytes().hex().upper()}"> : {kind}'
    return f"dense<{nested(value, text)}> : {kind}"


def nested(value, text):
    if value.ndim == 0:
        return text(value)
    return "[" + ", ".join(nested(part, text) for part in value) + "]"


def attribute(value, element):
    kind = value.WhichOneof("value")
    if kind == "b":
        return "true" if value.b else "false"
    if kind == "i":
        return f"{value.i} : i64"
    if kind == "f":
        return f"{float_text(value.f)} : f32"
    if kind == "s":
        return string_attribute(value.s)
    if kind == "type":
        return ELEMENT[tf.dtypes.as_dtype(value.type)]
    if kind == "shape":
        return "#tf_type.shape<" + "x".join(str(d.size) for d in value.shape.dim) + ">"
    if kind == "tensor":
        return dense_attribute(tf.make_ndarray(value.tensor), element)
    if kind == "list":
        values = value.list
        parts = ([str(i) for i in values.i] or [string_attribute(s) for s in values.s]
                 or [f"{float_text(f)} : f32" for f in values.f]
                 or ["true" if b else "false" for b in values.b]
                 or [ELEMENT[tf.dtypes.as_dtype(t)] for t in values.type])
        return "[" + ", ".join(parts) + "]"
    raise ValueError(f"attribute of kind {kind}")


def properties(op):
    """Attributes without those that the operands' and results' types tell."""
    definition = op_def_registry.get(op.type)
    derived = set()
    for argument in list(definition.input_arg) + list(definition.output_arg):
        derived |= {argument.type_attr, argument.number_attr, argument.type_list_attr}
    element = ELEMENT[op.outputs[0].dtype] if op.outputs else None
    node = op.node_def
    return ", ".join(f"{key} = {attribute(node.attr[key], element)}"
                     for key in sorted(node.attr) if key not in derived and key[0] != "_")


def to_mlir(graph):
    values, lines = {}, []
    arguments = []
    by_name = {op.name: op for op in graph.operations}
    for i, name in enumerate(graph.arguments):
        tensor = by_name[name].outputs[0]
        values[tensor.name] = f"%arg{i}"
        arguments.append(tensor)
    for i, op in enumerate(graph.operations):
        if op.name in graph.arguments or op.type == "NoOp":
            continue
        for port, tensor in enumerate(op.outputs):
            values[tensor.name] = f"%{i}" + (f"#{port}" if len(op.outputs) > 1 else "")
        count = f":{len(op.outputs)}" if len(op.outputs) > 1 else ""
        types = [tensor_type(tensor) for tensor in op.outputs]
        attributes = properties(op)
        lines.append(
            f'    %{i}{count} = "tf.{op.type}"({", ".join(values[t.name] for t in op.inputs)})'
            + (f" <{{{attributes}}}>" if attributes else "")
            + f" {{node = {string_attribute(op.name)}}} : "
            + f'({", ".join(tensor_type(t) for t in op.inputs)}) -> '
            + (types[0] if len(types) == 1 else f'({", ".join(types)})'))
    results = [graph.graph.get_tensor_by_name(name) for name in graph.results]
    result_types = ", ".join(tensor_type(t) for t in results)
    argument_types = ", ".join(tensor_type(t) for t in arguments)
    names = ", ".join(f"{{tf._user_specified_name = {string_attribute(t.op.name)}}}"
                      for t in arguments)
    block = ", ".join(f"%arg{i}: {tensor_type(t)}" for i, t in enumerate(arguments))
    returned = ", ".join(values[t.name] for t in results)
    return "\n".join(
        ['"builtin.module"() ({',
         f'  "func.func"() <{{arg_attrs = [{names}], '
         f"function_type = ({argument_types}) -> ({result_types}), "
         f'sym_name = "{graph.name}"}}> ({{',
         f"  ^bb0({block}):"]
        + lines
        + [f'    "func.return"({returned}) : ({result_types}) -> ()',
           "  }) : () -> ()", "}) : () -> ()", ""])


# --- Grappler ----------------------------------------------------------------


class Stderr:
    """What C++ code writes to the standard error while this is open."""

    def __enter__(self):
        self.file = tempfile.TemporaryFile()
        self.saved = os.dup(2)
        os.dup2(self.file.fileno(), 2)
        return self

    def __exit__(self, *_):
        os.dup2(self.saved, 2)
        os.close(self.saved)
        self.file.seek(0)
        self.text = self.file.read().decode(errors="replace")


def optimize(graph, mode):
    """Grappler's graph, and the pass's own time in ms."""
    meta_graph = tf.compat.v1.train.export_meta_graph(graph_def=graph.graph_def, graph=graph.graph)
    for name in graph.results:
        meta_graph.collection_def["train_op"].node_list.value.append(name.split(":")[0])
    kind = "GPU" if mode == "cuda" else "CPU"
    device = device_properties_pb2.NamedDevice(name=f"/{kind}:0")
    device.properties.type = kind
    if mode == "cuda":
        for key, value in (("architecture", "8.0"), ("cuda", "11050"), ("cudnn", "8302")):
            device.properties.environment[key] = value
    config = config_pb2.ConfigProto()
    options = config.graph_options.rewrite_options
    options.optimizers.append("auto_mixed_precision" if mode == "cuda"
                              else "auto_mixed_precision_onednn_bfloat16")
    options.min_graph_nodes = -1
    options.meta_optimizer_iterations = options.ONE
    with Stderr() as log:
        result = tf_optimizer.OptimizeGraph(
            config, meta_graph, cluster=cluster.Cluster(devices=[device],
                                                        disable_detailed_stats=True))
    times = re.findall(r"auto_mixed_precision\w*: .*time = ([0-9.]+)ms", log.text)
    return result, float(times[0]) if times else None


def mac_flops(op):
    """Two per multiply and add."""
    shapes = [sizes(tensor) for tensor in op.inputs]
    result = sizes(op.outputs[0])
    if "onv2" in op.type:  # of the kernel, all that is not the output's channels
        image = result if op.type in ("Conv2D", "DepthwiseConv2dNative") else shapes[2]
        kernel = result if op.type.endswith("Filter") else shapes[1]
        return 2 * np.prod(image) * np.prod(kernel[:2 if "Depthwise" in op.type else 3])
    if op.type == "Einsum":
        inputs = op.get_attr("equation").decode().split("->")[0].split(",")
        return 2 * np.prod(list({letter: size for letters, shape in zip(inputs, shapes)
                                 for letter, size in zip(letters, shape)}.values()))
    transposed = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
    return 2 * np.prod(result) * shapes[0][-2 if transposed else -1]


def holds(value, dtype):
    enum = dtype.as_datatype_enum
    return value.type == enum or enum in value.list.type


def figures(graph, mode):
    """The fields of a row; bytes are what casts read and write, `interior` those of casts
    that neither read an argument nor end in results only."""
    result, milliseconds = optimize(graph, mode)
    low = LOW[mode]
    before = {node.name: node for node in graph.graph_def.node}
    after = {node.name: node for node in result.node}
    casts = [node for name, node in after.items() if name not in before and node.op == "Cast"]
    added = set(after) - set(before) - {node.name for node in casts}
    if added or set(before) - set(after):
        raise ValueError(f"{graph.name}: auto_mixed_precision added {sorted(added)}, "
                         f"removed {sorted(set(before) - set(after))}")
    down = [node for node in casts if holds(node.attr["DstT"], low)]
    placed = [{"source": node.input[0], "op": before[node.input[0].split(":")[0]].op,
               "direction": "down" if node in down else "up",
               "bytes": int(np.prod(graph.shape(node.input[0]))) * (4 + low.size)}
              for node in casts]
    weights = set(graph.arguments)
    ends = {name.split(":")[0] for name in graph.results}
    readers = {}
    for node in result.node:
        for name in node.input:
            readers.setdefault(name.removesuffix(":0"), set()).add(node.name)
    for cast, node in zip(placed, casts):
        cast["interior"] = cast["source"] not in weights and not readers[node.name] <= ends
    painted = [name for name, node in before.items()
               if any(holds(value, low) and not holds(node.attr[key], low)
                      for key, value in after[name].attr.items())]
    macs = {op.name: int(mac_flops(op)) for op in graph.operations if op.type in MAC_OPS}
    by_op = {}
    for name in painted:
        by_op[before[name].op] = by_op.get(before[name].op, 0) + 1
    return {"nodes_before": len(before), "casts_down": len(down),
            "casts_up": len(casts) - len(down),
            "cast_bytes": sum(cast["bytes"] for cast in placed),
            "interior_bytes": sum(cast["bytes"] for cast in placed if cast["interior"]),
            "mac_nodes": len(macs),
            "mac_low": sum(name in painted for name in macs), "mac_flops": sum(macs.values()),
            "mac_low_flops": sum(flops for name, flops in macs.items() if name in painted),
            "painted": len(painted), "painted_by_op": by_op, "pass_ms": milliseconds,
            "low_nodes": sorted(painted), "macs": macs, "casts": placed}
