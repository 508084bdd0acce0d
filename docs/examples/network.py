"""Writes networks as MLIR: what the examples' make_model.py scripts share.

A script defines `forward(net)`, which builds the network on a `Network` and
returns its results by name; `print_module(comment, forward)` prints it as @loss,
to be trained, and as @eval (`net.training` is False), for held-out data.
Dimension 0 of inputs, written None, is left open.
"""

import math


class Value:
    def __init__(self, name, shape, element="f32"):
        self.name, self.shape, self.element = name, tuple(shape), element

    @property
    def type(self):
        sizes = ["?" if size is None else str(size) for size in self.shape]
        return f"tensor<{'x'.join(sizes + [self.element])}>"


def array(numbers):
    return f"array<i64: {', '.join(map(str, numbers))}>"


def kaiming_uniform(fan_in):
    """PyTorch's default for the weights and biases of linear layers and convolutions."""
    return f'{{kind = "kaiming_uniform", fan_in = {fan_in} : i64}}'


def normal(deviation):
    return f'{{kind = "normal", mean = 0.0 : f64, std = {deviation!r} : f64}}'


def kaiming_normal(fan_in):
    """He et al. 2015, for what a ReLU follows."""
    return normal(math.sqrt(2 / fan_in))


ZEROS, ONES = '{kind = "zeros"}', '{kind = "ones"}'


class Network:
    def __init__(self, training):
        self.training = training
        self.arguments, self.inputs, self.body, self.updates = [], [], [], []
        self.count = 0

    # Arguments ---------------------------------------------------------------

    def argument(self, name, shape, element, role, init=None):
        value = Value(name, shape, element)
        start = f", mpt.init = {init}" if init and self.training else ""
        text = f'%{name}: {value.type} {{mpt.name = "{name}", mpt.role = "{role}"{start}}}'
        (self.inputs if role in ("input", "target") else self.arguments).append(text)
        return value

    def parameter(self, name, shape, init):
        return self.argument(name, shape, "f32", "parameter", init)

    def input(self, name, shape, element="f32", role="input"):
        return self.argument(name, shape, element, role)

    def target(self, name, shape, element="i32"):
        return self.argument(name, shape, element, "target")

    # Ops ---------------------------------------------------------------------

    def op(self, text, operands, *results, attributes=""):
        """Adds mpt.`text`; `results` are (shape, element). Returns one Value or a list."""
        self.count += 1
        values = [Value(f"v{self.count}" + (f"_{i}" if len(results) > 1 else ""), *result)
                  for i, result in enumerate(results)]
        given = ", ".join(value.type for value in values)
        self.body.append(
            f"{', '.join('%' + value.name for value in values)} = mpt.{text} "
            f"{', '.join('%' + value.name for value in operands)}"
            + (f" {{{attributes}}}" if attributes else "")
            + f"\n      : ({', '.join(value.type for value in operands)}) -> "
            + (f"({given})" if len(values) > 1 else given))
        return values[0] if len(values) == 1 else values

    def constant(self, number, shape=(), element="f32"):
        self.count += 1
        value = Value(f"v{self.count}", shape, element)
        self.body.append(f"%{value.name} = mpt.constant dense<{number}> : {value.type}")
        return value

    def pointwise(self, name, *operands, attributes=""):
        """An op whose result is like its first operand, which the others broadcast to."""
        return self.op(name, operands, (operands[0].shape, operands[0].element),
                       attributes=attributes)

    def reshape(self, x, *shape):
        return self.op("reshape", [x], (shape, x.element))

    def transpose(self, x, *permutation):
        return self.op("transpose", [x], ([x.shape[i] for i in permutation], x.element),
                       attributes=f"permutation = {array(permutation)}")

    def slice(self, x, axis, begin, size):
        """`size` elements of x along one axis, all of the others."""
        offsets, sizes = [0] * len(x.shape), [-1] * len(x.shape)
        offsets[axis], sizes[axis] = begin, size
        shape = x.shape[:axis] + (size,) + x.shape[axis + 1:]
        return self.op("slice", [x], (shape, x.element),
                       attributes=f"offsets = {array(offsets)}, sizes = {array(sizes)}, "
                                  f"strides = {array([1] * len(x.shape))}")

    def concat(self, values, axis):
        shape = list(values[0].shape)
        shape[axis] = sum(value.shape[axis] for value in values)
        return self.op("concat", values, (shape, values[0].element),
                       attributes=f"axis = {axis} : i64")

    def gather(self, table, indices):
        return self.op("gather", [table, indices], (indices.shape + table.shape[1:], table.element))

    def reduce(self, x, kind, *axes):
        shape = [size for i, size in enumerate(x.shape) if i not in axes]
        return self.op("reduce", [x], (shape, x.element),
                       attributes=f"kind = #mpt.reduce_kind<{kind}>, axes = {array(axes)}")

    def compare(self, predicate, a, b):
        return self.op("compare", [a, b], (a.shape, "i1"),
                       attributes=f"predicate = #mpt.predicate<{predicate}>")

    def cast(self, x, element="f32"):
        return self.op("cast", [x], (x.shape, element))

    def scan(self, carried, stacked, body):
        """Runs `body` for each slice of dimension 0 of `stacked`. It takes the carried values
        and the slices, and returns the next carried values and what is stacked. Returns the
        last carried values and the stacks."""
        self.count += 1
        number, outer, self.body = self.count, self.body, []
        length = stacked[0].shape[0]
        arguments = [Value(f"a{number}_{i}", value.shape[i >= len(carried):], value.element)
                     for i, value in enumerate([*carried, *stacked])]
        next_carried, made = body(arguments[:len(carried)], arguments[len(carried):])
        results = [Value(f"v{number}_{i}", value.shape, value.element)
                   for i, value in enumerate(next_carried)]
        results += [Value(f"v{number}_{i + len(results)}", (length, *value.shape), value.element)
                    for i, value in enumerate(made)]

        def typed(values):
            return (", ".join("%" + value.name for value in values) + " : "
                    + ", ".join(value.type for value in values))
        lines, self.body = self.body, outer
        self.body += [
            f"{', '.join('%' + value.name for value in results)} = mpt.scan {length} "
            f"carry({typed(carried)}) over({typed(stacked)}) {{",
            "^bb0(" + ", ".join(f"%{value.name}: {value.type}" for value in arguments) + "):",
            *("  " + line for line in lines), "  mpt.yield " + typed([*next_carried, *made]),
            "} : " + ", ".join(value.type for value in results)]
        return results[:len(carried)], results[len(carried):]

    # Layers ------------------------------------------------------------------

    def linear(self, x, name, outputs, weight=None, bias=None, epilogue=None):
        inputs = x.shape[-1]
        operands = [x, self.parameter(name + "_w", (inputs, outputs), weight or kaiming_uniform(inputs)),
                    self.parameter(name + "_b", (outputs,), bias or kaiming_uniform(inputs))]
        return self.op("linear", operands, (x.shape[:-1] + (outputs,), "f32"),
                       attributes=f"epilogue = #mpt.epilogue<{epilogue}>" if epilogue else "")

    def conv(self, x, name, outputs, kernel=3, stride=1):
        """Without bias: batch normalization follows. Padded to keep the size."""
        _, height, width, inputs = x.shape
        filters = self.parameter(name + "_w", (kernel, kernel, inputs, outputs),
                                 kaiming_normal(kernel * kernel * inputs))
        pad = kernel // 2
        size = [(length + 2 * pad - kernel) // stride + 1 for length in (height, width)]
        return self.op("conv2d", [x, filters], ((x.shape[0], *size, outputs), "f32"),
                       attributes=f"strides = {array([stride] * 2)}, padding = {array([pad] * 4)}")

    def batch_norm(self, x, name, gamma=ONES):
        c = (x.shape[-1],)
        operands = [x, self.parameter(name + "_gamma", c, gamma),
                    self.parameter(name + "_beta", c, ZEROS),
                    self.argument(name + "_mean", c, "f32", "running_stat", ZEROS),
                    self.argument(name + "_var", c, "f32", "running_stat", ONES)]
        if not self.training:
            return self.op("batch_norm_inference", operands, (x.shape, "f32"))
        results = self.op("batch_norm", operands, (x.shape, "f32"), *[(c, "f32")] * 4)
        self.updates += [(name + "_mean", results[1]), (name + "_var", results[2])]
        return results[0]

    def layer_norm(self, x, name):
        c, rows = (x.shape[-1],), x.shape[:-1]
        operands = [x, self.parameter(name + "_gamma", c, ONES),
                    self.parameter(name + "_beta", c, ZEROS)]
        return self.op("layer_norm", operands, (x.shape, "f32"), (rows, "f32"), (rows, "f32"))[0]

    def max_pool(self, x):
        """Halves height and width."""
        n, height, width, c = x.shape
        return self.op("max_pool", [x], ((n, height // 2, width // 2, c), "f32"),
                       attributes=f"window = {array([2, 2])}, strides = {array([2, 2])}")

    def attention(self, query, key, value, heads, causal=False):
        """Multi-head attention of [N, T, C] operands, without its projections."""
        n, t, c = query.shape
        d = c // heads
        split = [self.transpose(self.reshape(x, n, t, heads, d), 0, 2, 1, 3)
                 for x in (query, key, value)]
        y = self.op("attention", split, ((n, heads, t, d), "f32"), ((n, heads, t), "f32"),
                    attributes="causal" if causal else "")[0]
        return self.reshape(self.transpose(y, 0, 2, 1, 3), n, t, c)

    def cross_entropy(self, logits, labels, attributes=""):
        return self.op("cross_entropy", [logits, labels], ((), "f32"), (labels.shape, "f32"),
                       attributes=attributes)[0]

    def hits(self, logits, labels):
        """1.0 where the largest logit is the label's, else 0.0."""
        best = self.op("argmax", [logits], (logits.shape[:-1], "i32"))
        return self.cast(self.compare("eq", best, labels))

    def results(self, loss, **metrics):
        """The loss; behind it metrics, which @eval alone returns."""
        return {"loss": loss, **({} if self.training else metrics)}


def print_function(name, forward, training):
    net = Network(training)
    results = [(value, f'mpt.name = "{key}"') for key, value in forward(net).items()]
    results += [(value, f'mpt.name = "new_{key}", mpt.updates = "{key}"')
                for key, value in net.updates]
    print(f"func.func @{name}(\n    " + ",\n    ".join(net.arguments + net.inputs) + ")")
    print("    -> (" + ",\n        ".join(f"{value.type} {{{text}}}" for value, text in results) + ") {")
    for line in net.body:
        print("  " + line)
    print(f"  return {', '.join('%' + value.name for value, _ in results)}\n"
          f"      : {', '.join(value.type for value, _ in results)}\n}}")


def print_module(comment, forward):
    print("// " + "\n// ".join(comment.strip().splitlines()))
    print_function("loss", forward, True)
    print("\n// The same network on held-out data.")
    print_function("eval", forward, False)
