"""Calls of torch's ops with ranks, sizes, dimensions and flags drawn from a seed.

A case is (names, function of a Draw that returns (tensors, call)): `call` takes the names'
op and the tensors. Tensors of floats are parameters, others are data.
"""
import random

import torch

CASES = []
# Ops that no case calls.
UNCALLED = set("""
_native_batch_norm_legit _native_batch_norm_legit_functional native_batch_norm
_native_batch_norm_legit.no_stats _native_batch_norm_legit_no_training
""".split())  # What batch_norm becomes in a functional graph, and its form in others.
UNCALLED |= set("""
dropout native_dropout feature_dropout alpha_dropout feature_alpha_dropout bernoulli
bernoulli.p rand rand_like randn randn_like randint randint.low randint_like
randint_like.low_dtype uniform normal_functional exponential
""".split())  # random: check_random.py
UNCALLED |= set("""
_assert_async.msg _assert_scalar _assert_tensor_metadata size.int sym_constrain_range
sym_constrain_range_for_size add.int sub.int mul.int floordiv.int
""".split())  # without a tensor as result
UNCALLED |= set("empty.memory_format empty_like new_empty".split())  # of no value
UNCALLED |= set("""
_conj_physical _adaptive_avg_pool2d _prelu_kernel _reshape_alias view_copy lift_fresh lift_fresh_copy
_unsafe_index.Tensor detach_copy nll_loss2d_forward zero fill.Tensor adjoint to.device to.dtype_layout to.other
to.prim_Device _cdist_forward _linalg_det _linalg_slogdet _linalg_solve_ex
""".split())  # Another name of an op that is called.


class Draw:
    """Random choices of one case."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.torch = torch.Generator().manual_seed(self.random.randrange(1 << 30))

    def int(self, low, high):
        return self.random.randint(low, high)

    def choice(self, items):
        return self.random.choice(items)

    def bool(self):
        return self.random.random() < 0.5

    def shape(self, low=0, high=4, sizes=(1, 2, 3, 5)):
        return [self.choice(sizes) for _ in range(self.int(low, high))]

    def like(self, shape):
        """A shape that broadcasts with `shape`."""
        shape = [1 if self.random.random() < 0.3 else s for s in shape]
        return shape[self.int(0, len(shape)):] if self.bool() else shape

    def dim(self, rank):
        return self.int(-rank, rank - 1) if rank else self.choice([0, -1])

    def dims(self, rank):
        count = self.int(1, rank) if rank else 0
        return [d - rank if self.bool() else d
                for d in self.random.sample(range(rank), count)]

    def float(self, shape, low=-2.0, high=2.0):
        return torch.rand(shape, generator=self.torch) * (high - low) + low

    def far(self, shape, points, low=-3.0, high=3.0):
        """Numbers that keep away from `points`, where a function has a kink."""
        x = self.float(shape, low, high)
        for p in points:
            x = torch.where((x - p).abs() < 0.02, x + 0.05, x)
        return x

    def ints(self, shape, low, high):
        return torch.randint(low, high, shape, generator=self.torch)

    def bools(self, shape):
        return torch.rand(shape, generator=self.torch) < 0.5

    def few(self, shape):
        """Few different numbers, so that many are equal."""
        return self.ints(shape, 0, 4).float()

    def distinct(self, shape):
        count = 1
        for size in shape:
            count *= size
        return (torch.randperm(count, generator=self.torch).float() / max(count, 1) * 4 - 2
                ).reshape(shape)


def case(*names):
    def add(make):
        for name in names:
            CASES.append((name, make))
        return make
    return add


# Elementwise ops of one tensor.
def unary(names, low=-2.0, high=2.0, points=()):
    for name in names.split():
        CASES.append((name, lambda d: ([d.far(d.shape(), points, low, high)],
                                       lambda op, x: op(x))))


unary("exp exp2 expm1 special_expm1 tanh sigmoid special_expit erf special_erf sin cos sinh "
      "cosh square neg negative positive deg2rad rad2deg silu mish selu "
      "log_sigmoid gelu softplus")
unary("log log2 log10 sqrt rsqrt reciprocal log1p special_log1p", 0.1, 3)
unary("abs absolute sign sgn relu", points=(0,))
unary("relu6 hardtanh hardsigmoid hardswish hardshrink softshrink leaky_relu elu celu",
      -8, 8, (-3, -1, -0.5, 0, 0.5, 1, 3, 6))
unary("floor ceil trunc fix round frac", -3, 3, (-3, -2, -1, 0, 1, 2, 3, -2.5, -1.5, -.5, .5, 1.5, 2.5))
unary("tan", -1, 1)
unary("erfinv special_erfinv", -0.999, 0.999)
unary("lgamma special_gammaln digamma special_digamma special_psi", -4, 9,
      (-4, -3, -2, -1, 0))
unary("lgamma", 0.5, 3e4)
unary("isnan isinf isfinite logical_not nan_to_num detach clone alias contiguous ravel")
unary("zeros_like ones_like")


@case("logit", "special_logit")
def _(d):
    return [d.float(d.shape(), 0.1, 0.9)], lambda op, x: op(x, d.choice([None, 0.05]))


@case("erfinv")
def _(d):
    # Beyond the ends there is no number, at them an infinite one, without a finite gradient.
    return [d.float([4])], lambda op, x: op(x.detach() * 0 + torch.tensor([-1.0, 1.0, 0.0, 1.5]))


@case("round.decimals")
def _(d):
    # A 64th of a step away from where both neighbours are equally near.
    decimals = d.choice([-1, 0, 1, 2])
    step = 10.0 ** -decimals
    x = (d.ints(d.shape(), -64, 64) * 2 + 1) / 64
    return [x * step], lambda op, x: op(x, decimals=decimals)


@case("gelu")
def _(d):
    return [d.float(d.shape())], lambda op, x: op(x, approximate="tanh")


@case("softplus")
def _(d):
    beta, threshold = d.choice([0.5, 1.0, 2.0]), d.choice([2, 20])
    return [d.float(d.shape(), -3, 3)], lambda op, x: op(x, beta, threshold)


@case("hardtanh")
def _(d):
    return [d.far(d.shape(), (-1.5, 0.5))], lambda op, x: op(x, -1.5, 0.5)


@case("leaky_relu", "celu", "elu")
def _(d):
    return [d.far(d.shape(), (0,))], lambda op, x: op(x, 0.3)


@case("hardshrink", "softshrink")
def _(d):
    return [d.far(d.shape(), (-1, 1))], lambda op, x: op(x, 1.0)


@case("threshold")
def _(d):
    return [d.far(d.shape(), (0.5,))], lambda op, x: op(x, 0.5, -1.0)


@case("rrelu")
def _(d):
    return [d.far(d.shape(), (0,))], lambda op, x: op(x, 0.1, 0.3, False)


@case("prelu")
def _(d):
    shape = d.shape(2, 4)
    return ([d.far(shape, (0,)), d.float([d.choice([1, shape[1]])])],
            lambda op, x, w: op(x, w))


@case("glu")
def _(d):
    shape = d.shape(1, 4)
    dim = d.dim(len(shape))
    shape[dim] = d.choice([2, 4])
    return [d.float(shape)], lambda op, x: op(x, dim)


# Elementwise ops of two.
def binary(names, low=-2.0, high=2.0, low2=None, high2=None):
    def make(d):
        a = d.shape()
        b = d.like(a)
        x, y = d.float(a, low, high), d.float(b, low2 or low, high2 or high)
        return [x, y], lambda op, x, y: op(x, y)
    for name in names.split():
        CASES.append((name, make))


binary("add.Tensor sub.Tensor subtract.Tensor mul.Tensor multiply.Tensor rsub.Tensor "
       "maximum minimum max.other min.other fmax fmin hypot logaddexp "
       "eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor logical_and logical_or "
       "logical_xor")
binary("div.Tensor divide.Tensor true_divide.Tensor floor_divide remainder.Tensor fmod.Tensor "
       "pow.Tensor_Tensor xlogy.Tensor", 0.2, 3)


@case("hypot")
def _(d):
    special = [float("inf"), -float("inf"), float("nan"), 0.0, 3.0, 1e30]
    x, y = torch.meshgrid(torch.tensor(special), torch.tensor(special), indexing="ij")
    return [x, y], lambda op, x, y: op(x, y)


@case("add.Tensor", "sub.Tensor", "rsub.Tensor")
def _(d):
    shape = d.shape()
    alpha = d.choice([2, 0.5])
    return ([d.float(shape), d.float(d.like(shape))],
            lambda op, x, y: op(x, y, alpha=alpha))


@case("add.Tensor", "mul.Tensor", "sub.Tensor", "div.Tensor", "eq.Tensor", "lt.Tensor")
def _(d):
    shape = d.shape()
    return [d.float(shape), d.ints(d.like(shape), 1, 5)], lambda op, x, y: op(x, y)


@case("add.Tensor", "mul.Tensor", "sub.Tensor", "maximum", "floor_divide", "remainder.Tensor",
      "div.Tensor", "ge.Tensor")
def _(d):
    shape = d.shape()
    return ([d.ints(shape, -9, 9), d.ints(d.like(shape), 1, 4) * d.choice([1, -1])],
            lambda op, x, y: op(x, y))


@case("add.Scalar", "sub.Scalar", "mul.Scalar", "div.Scalar", "rsub.Scalar",
      "floor_divide.Scalar", "remainder.Scalar", "fmod.Scalar", "eq.Scalar", "ne.Scalar",
      "lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar")
def _(d):
    number = d.choice([2, 0.7, -1.5])
    x = d.far(d.shape(), (0, 0.7, -1.5, 1.4, -1.4)) if d.bool() else d.ints(d.shape(), -5, 6)
    return [x], lambda op, x: op(x, number)


@case("div.Tensor_mode", "divide.Tensor_mode")
def _(d):
    shape, mode = d.shape(), d.choice([None, "floor", "trunc"])
    return ([d.float(shape), d.float(d.like(shape), 0.3, 2)],
            lambda op, x, y: op(x, y, rounding_mode=mode))


@case("div.Scalar_mode")
def _(d):
    return [d.float(d.shape())], lambda op, x: op(x, 0.7, rounding_mode="floor")


@case("pow.Tensor_Scalar")
def _(d):
    exponent = d.choice([0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.7])
    return [d.float(d.shape(), 0.3, 2)], lambda op, x: op(x, exponent)


@case("pow.Scalar")
def _(d):
    return [d.float(d.shape())], lambda op, x: op(1.7, x)


@case("lerp.Scalar")
def _(d):
    shape, weight = d.shape(), d.choice([0.2, 0.8])
    return [d.float(shape), d.float(d.like(shape))], lambda op, x, y: op(x, y, weight)


@case("lerp.Tensor")
def _(d):
    shape = d.shape()
    return ([d.float(shape), d.float(shape), d.far(shape, (0.5, -0.5), 0, 1)],
            lambda op, x, y, w: op(x, y, w))


@case("addcmul", "addcdiv")
def _(d):
    shape = d.shape()
    return ([d.float(shape), d.float(d.like(shape)), d.float(d.like(shape), 0.5, 2)],
            lambda op, x, y, z: op(x, y, z, value=d.choice([1, 0.5])))


@case("clamp", "clip")
def _(d):
    low, high = d.choice([(-0.5, 0.7), (None, 0.7), (-0.5, None)])
    return [d.far(d.shape(), (-0.5, 0.7))], lambda op, x: op(x, low, high)


@case("clamp.Tensor", "clip.Tensor")
def _(d):
    shape = d.shape()
    return ([d.float(shape), d.float(shape, -1, -0.5), d.float(shape, 0.5, 1)],
            lambda op, x, a, b: op(x, a, b))


# Gradients at the bounds, and of equal elements.

AT_BOUNDS = [-1.0, 0.0, 0.5, 1.0, 2.0]


@case("clamp", "clip", "hardtanh")
def _(d):
    return [torch.tensor(AT_BOUNDS)], lambda op, x: op(x, 0, 1)


@case("clamp.Tensor", "clip.Tensor")
def _(d):
    return ([torch.tensor(AT_BOUNDS), torch.zeros(5), torch.ones(5)],
            lambda op, x, a, b: op(x, a, b))


@case("clamp_min", "clamp_max")
def _(d):
    return [torch.tensor(AT_BOUNDS)], lambda op, x: op(x, 0.5)


@case("fmax", "fmin", "maximum", "minimum", "clamp_min.Tensor", "clamp_max.Tensor")
def _(d):
    return ([torch.tensor(AT_BOUNDS), torch.tensor([-1.0, 2.0, 0.5, 0.0, 2.0])],
            lambda op, x, y: op(x, y))


@case("hardswish", "relu6", "hardsigmoid")
def _(d):
    return [torch.tensor([-4.0, -3.0, 0.0, 3.0, 6.0])], lambda op, x: op(x)


@case("binary_cross_entropy")
def _(d):
    # Of sigmoids that are rounded to 0 and 1.
    return ([torch.tensor([-200.0, -2.0, 1.0, 200.0])],
            lambda op, x: op(x.sigmoid(), x.new_tensor([0.3, 0.0, 1.0, 1.0])))


@case("std", "std_mean")
def _(d):
    # It is 0.
    return [torch.ones(4)], lambda op, x: op(x)


@case("clamp_min", "clamp_max")
def _(d):
    return [d.far(d.shape(), (0.3,))], lambda op, x: op(x, 0.3)


@case("clamp_min.Tensor", "clamp_max.Tensor")
def _(d):
    shape = d.shape()
    return [d.float(shape), d.float(shape)], lambda op, x, y: op(x, y)


@case("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "__and__.Tensor",
      "__or__.Tensor", "__xor__.Tensor", "add.Tensor", "mul.Tensor")
def _(d):
    shape = d.shape()
    return [d.bools(shape), d.bools(d.like(shape))], lambda op, x, y: op(x, y)


@case("bitwise_and.Scalar", "bitwise_or.Scalar", "__and__.Scalar", "__or__.Scalar")
def _(d):
    return [d.bools(d.shape())], lambda op, x: op(x, True)


@case("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "__and__.Tensor",
      "__or__.Tensor", "__xor__.Tensor", "bitwise_left_shift.Tensor", "__lshift__.Tensor",
      "bitwise_right_shift.Tensor", "__rshift__.Tensor")
def _(d):
    # Amounts of shifts may be anything.
    shape, types = d.shape(), [torch.int64, torch.int32, torch.int16, torch.int8]
    x = d.ints(shape, -100, 100).to(d.choice(types))
    return [x, d.ints(d.like(shape), -9, 70).to(x.dtype)], lambda op, x, y: op(x, y)


@case("bitwise_and.Scalar", "bitwise_or.Scalar", "bitwise_xor.Scalar", "__and__.Scalar",
      "__or__.Scalar", "__xor__.Scalar", "bitwise_left_shift.Tensor_Scalar", "__lshift__.Scalar",
      "bitwise_right_shift.Tensor_Scalar", "__rshift__.Scalar")
def _(d):
    n = d.int(0, 12)
    return [d.ints(d.shape(), -100, 100)], lambda op, x: op(x, n)


@case("bitwise_not")
def _(d):
    return [d.ints(d.shape(), -100, 100)], lambda op, x: op(x)


@case("bitwise_not", "logical_not")
def _(d):
    return [d.bools(d.shape())], lambda op, x: op(x)


@case("where.self")
def _(d):
    shape = d.shape()
    return ([d.bools(d.like(shape)), d.float(shape), d.float(d.like(shape))],
            lambda op, c, x, y: op(c, x, y))


@case("where.ScalarOther")
def _(d):
    return [d.bools([2, 3]), d.float([2, 3])], lambda op, c, x: op(c, x, 0.5)


@case("where.ScalarSelf")
def _(d):
    return [d.bools([2, 3]), d.float([2, 3])], lambda op, c, x: op(c, 0.5, x)


@case("where.Scalar")
def _(d):
    return [d.bools([2, 3])], lambda op, c: op(c, 0.5, 2.0)


@case("masked_scatter")
def _(d):
    shape = d.shape(1, 4)
    mask = d.bools(d.like(shape))
    count = max(int(mask.expand(shape).sum()), 1) + d.int(0, 5)
    return [d.float(shape), mask, d.float([count])], lambda op, x, m, y: op(x, m, y)


@case("masked_scatter")
def _(d):
    return ([d.float([2, 0]), d.bools([2, 1]), d.float([3])],
            lambda op, x, m, y: op(x, m, y))


@case("masked_scatter")
def _(d):
    # Whole rows, as for the tokens of an image.
    rows, columns = [d.int(1, 4), d.int(1, 5)], d.int(1, 6)
    mask = d.bools(rows)
    count = int(mask.sum()) + d.int(1, 2)
    return ([d.float([*rows, columns]), mask, d.float([count, columns])],
            lambda op, x, m, y: op(x, m.unsqueeze(-1).expand_as(x), y))


@case("masked_fill.Scalar")
def _(d):
    shape = d.shape()
    return [d.float(shape), d.bools(d.like(shape))], lambda op, x, m: op(x, m, -3.0)


@case("masked_fill.Tensor")
def _(d):
    shape = d.shape()
    return [d.float(shape), d.bools(shape), d.float([])], lambda op, x, m, v: op(x, m, v)


# Reductions.
@case("sum", "mean", "var", "std", "max", "min", "amax", "norm.Scalar")
def _(d):
    return [d.distinct(d.shape(1, 4, (2, 3)))], lambda op, x: op(x)


@case("prod")
def _(d):
    return [d.float([2, 3], 0.5, 1.5)], lambda op, x: op(x)


@case("prod.dim_int")
def _(d):
    return [d.float([2, 3, 4], 0.5, 1.5)], lambda op, x: op(x, d.choice([0, 1, -1]), d.bool())


@case("sum.dim_IntList", "mean.dim", "amax", "amin", "logsumexp")
def _(d):
    shape, keep = d.shape(1, 4, (2, 3, 5)), d.bool()
    dims = d.dims(len(shape))
    return [d.distinct(shape)], lambda op, x: op(x, dims, keep)


@case("any", "all", "count_nonzero", "_is_all_true")
def _(d):
    return [d.bools(d.shape(1, 3))], lambda op, x: op(x)


@case("any.dim", "all.dim")
def _(d):
    shape, keep = d.shape(1, 3), d.bool()
    dim = d.dim(len(shape))
    return [d.bools(shape)], lambda op, x: op(x, dim, keep)


@case("any.dims", "all.dims", "count_nonzero.dim_IntList")
def _(d):
    return [d.bools([2, 3, 4])], lambda op, x: op(x, [0, -1])


@case("sum", "sum.dim_IntList", "cumsum")
def _(d):
    name_needs_dim = d.shape(2, 3)
    x = d.ints(name_needs_dim, -5, 6)
    return [x], lambda op, x: op(x) if str(op) == "aten.sum.default" else (
        op(x, -1) if "cumsum" in str(op) else op(x, [0], True))


@case("var.dim", "std.dim", "var_mean.dim", "std_mean.dim")
def _(d):
    shape, unbiased, keep = d.shape(1, 4, (2, 3, 5)), d.bool(), d.bool()
    dims = d.dims(len(shape))
    return [d.distinct(shape)], lambda op, x: op(x, dims, unbiased, keep)


@case("var.correction", "std.correction", "var_mean.correction", "std_mean.correction")
def _(d):
    shape, correction, keep = d.shape(1, 4, (2, 3, 5)), d.choice([0, 1]), d.bool()
    dims = d.dims(len(shape))
    return [d.distinct(shape)], lambda op, x: op(x, dims, correction=correction, keepdim=keep)


@case("var_mean", "std_mean")
def _(d):
    return [d.distinct([3, 4])], lambda op, x: op(x, d.bool())


@case("linalg_vector_norm", "norm.ScalarOpt_dim")
def _(d):
    shape, keep, p = d.shape(1, 4, (2, 3)), d.bool(), d.choice([1, 2, 3, float("inf")])
    dims = d.dims(len(shape))
    return [d.distinct(shape) + 0.1], lambda op, x: op(x, p, dims, keep)


@case(*["linalg_vector_norm"] * 2)
def _(d):
    # Where a row is zero, and where an element is, gradients are 0.
    x, keep, p = d.distinct([3, 4]) + 0.1, d.bool(), d.choice([0.5, 1.5, 3, -1])
    x[0], x[1, 0] = 0, 0
    return [x], lambda op, x: op(x, p, [1], keep)


@case(*["linalg_norm"] * 3)
def _(d):
    dims = d.choice([None, 1, [-1], [0, 1], [2, 0]])
    order = d.choice([None, 1, 2, float("inf")] if dims in (1, [-1]) else
                     [None] if dims is None else [None, 1, -1, float("inf"), -float("inf")])
    dims, keep = [dims] if isinstance(dims, int) else dims, d.bool()
    return [d.distinct([3, 4, 2]) + 0.1], lambda op, x: op(x, order, dims, keep)


@case("linalg_matrix_norm", "linalg_matrix_norm.str_ord", "linalg_norm.ord_str")
def _(d):
    order, dims, keep = d.choice([1, -float("inf")]), d.choice([[-2, -1], [2, 1]]), d.bool()
    return [d.distinct([3, 4, 2]) + 0.1], lambda op, x: op(
        x, "fro" if "str" in str(op) else order, dims, keep)


@case("max.dim", "min.dim", "argmax", "argmin")
def _(d):
    shape, keep = d.shape(1, 4, (2, 3, 5)), d.bool()
    dim = d.dim(len(shape))
    return [d.distinct(shape)], lambda op, x: op(x, dim, keep)


@case("argmax", "argmin")
def _(d):
    return [d.distinct([3, 4])], lambda op, x: op(x)


@case("topk")
def _(d):
    return [d.distinct([3, 5, 4])], lambda op, x: op(x, 2, d.choice([0, 1, -1]), True)


@case("topk")
def _(d):
    return [d.distinct([3, 5])], lambda op, x: op(x, 3, 1, False)


@case("topk", "topk")
def _(d):
    # A few of many in groups, most of them, and more than are found one by one.
    k, size = d.choice([(1, 70), (5, 1000), (20, 301), (64, 300), (100, 150)])
    return [d.distinct([2, size])], lambda op, x: op(x, k, 1, d.bool())


@case("topk", "topk")
def _(d):
    # Fewer numbers than are asked for, as where a router masks experts: no index comes twice.
    k, size = d.choice([(2, 4), (3, 8), (8, 64), (7, 200)])
    hidden = torch.arange(size) != d.choice([0, 1, size - 1])

    def count(op, x):
        values, indices = op(x.masked_fill(hidden, -torch.inf), k, 1, True)
        return values.exp(), torch.zeros(3, size).scatter_add(1, indices, torch.ones(3, k)).amax(1)

    return [d.distinct([3, size])], count


@case("cumsum")
def _(d):
    shape = d.shape(1, 4)
    dim = d.dim(len(shape))
    return [d.float(shape)], lambda op, x: op(x, dim)


@case("softmax.int", "log_softmax.int")
def _(d):
    shape = d.shape(1, 4)
    dim = d.dim(len(shape))
    return [d.float(shape)], lambda op, x: op(x, dim)


@case("softmax.int", "log_softmax.int")
def _(d):
    # Rows of a dimension before others: whole vectors of them, and a rest.
    shape = d.choice([[3, 37], [2, 5, 16], [2, 3, 5, 7], [2, 20, 9, 40]])
    dim = d.int(0, 1) if len(shape) == 2 else 1
    return [d.float(shape)], lambda op, x: op(x, dim)


@case("_softmax", "_log_softmax")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, d.choice([0, 1, -1]), False)


# Shapes.
@case("view", "reshape", "_unsafe_view")
def _(d):
    return [d.float([2, 6, 2])], lambda op, x: op(x, d.choice([[4, 6], [24], [3, -1, 2]]))


@case("flatten.using_ints")
def _(d):
    return [d.float([2, 3, 4, 2])], lambda op, x: op(x, d.choice([0, 1]), d.choice([-1, 2]))


@case("unflatten.int")
def _(d):
    return [d.float([2, 6])], lambda op, x: op(x, 1, [2, -1])


@case("unsqueeze")
def _(d):
    return [d.float([2, 3])], lambda op, x: op(x, d.int(-3, 2))


@case("squeeze")
def _(d):
    return [d.float([1, 3, 1])], lambda op, x: op(x)


@case("squeeze.dim")
def _(d):
    return [d.float([1, 3, 1])], lambda op, x: op(x, d.choice([0, 1, -1]))


@case("squeeze.dims")
def _(d):
    return [d.float([1, 3, 1])], lambda op, x: op(x, [0, 1])


@case("view_as", "reshape_as", "expand_as", "type_as")
def _(d):
    shape = d.shape(1, 3)
    return [d.float(shape), d.float(shape)], lambda op, x, y: op(x, y)


@case("atleast_1d", "atleast_2d")
def _(d):
    return [d.float([])], lambda op, x: op(x)


@case("transpose.int", "swapaxes", "swapdims")
def _(d):
    shape = d.shape(1, 4)
    a, b = d.dim(len(shape)), d.dim(len(shape))
    return [d.float(shape)], lambda op, x: op(x, a, b)


@case("t", "numpy_T")
def _(d):
    return [d.float([2, 3])], lambda op, x: op(x)


@case("mT")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x)


@case("permute")
def _(d):
    shape = d.shape(1, 5)
    dims = d.random.sample(range(len(shape)), len(shape))
    return [d.float(shape)], lambda op, x: op(x, dims)


@case("movedim.int")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, d.int(-3, 2), d.int(-3, 2))


@case("movedim.intlist")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, [0, -1], [1, 0])


@case("expand", "broadcast_to")
def _(d):
    return [d.float([3, 1])], lambda op, x: op(x, d.choice([[2, 3, 4], [3, 5]]))


@case("repeat", "tile")
def _(d):
    return [d.float([2, 3])], lambda op, x: op(x, d.choice([[2, 1], [2, 3], [2, 1, 2]]))


@case("repeat_interleave.self_int")
def _(d):
    return [d.float([2, 3])], lambda op, x: op(x, 2, d.choice([None, 0, 1, -1]))


@case("slice.Tensor")
def _(d):
    begin, end, step = d.choice([(0, 9, 1), (1, 4, 1), (-3, -1, 1), (0, 99, 2), (1, None, 3)])
    dim = d.choice([0, 1, -1])
    return [d.float([5, 6])], lambda op, x: op(x, dim, begin, end, step)


@case("narrow")
def _(d):
    return [d.float([5, 6])], lambda op, x: op(x, d.choice([0, -1]), d.choice([1, -3]), 2)


@case("select.int")
def _(d):
    shape = d.shape(1, 4)
    dim = d.dim(len(shape))
    index = d.int(-shape[dim], shape[dim] - 1)
    return [d.float(shape)], lambda op, x: op(x, dim, index)


@case("split.Tensor", "chunk", "tensor_split.sections")
def _(d):
    return [d.float([5, 6])], lambda op, x: op(x, d.int(1, 4), d.choice([0, 1, -1]))


@case("split_with_sizes", "split.sizes")
def _(d):
    return [d.float([5, 6])], lambda op, x: op(x, [1, 4, 1], 1)


@case("unbind.int")
def _(d):
    return [d.float([3, 4])], lambda op, x: op(x, d.choice([0, -1]))


@case("meshgrid.indexing", "meshgrid.indexing", "meshgrid.indexing")
def _(d):
    mode = d.choice(["ij", "xy"])
    return [d.float([3]), d.float([4])], lambda op, x, y: op([x, y], indexing=mode)


@case("broadcast_tensors")
def _(d):
    return [d.float([2, 1, 3]), d.float([4, 1])], lambda op, x, y: op([x, y])


@case("cat", "concat", "concatenate")
def _(d):
    shape = d.shape(1, 4)
    dim = d.dim(len(shape))
    other = list(shape)
    other[dim] = 2
    return [d.float(shape), d.float(other)], lambda op, x, y: op([x, y], dim)


@case("stack")
def _(d):
    shape = d.shape(0, 3)
    dim = d.dim(len(shape) + 1)
    return [d.float(shape), d.float(shape)], lambda op, x, y: op([x, y], dim)


@case("flip")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, d.choice([[0], [1, -1]]))


@case("flip", "flip")
def _(d):
    # By rows of elements, with a rest or without, and between two transposes.
    shape, dims = d.choice([([36], [0]), ([67], [0]), ([4, 5, 3], [2]), ([2, 1100, 2], [1]), ([40, 33], [0, 1])])
    return [d.float(shape)], lambda op, x: op(x, dims)


@case("roll")
def _(d):
    shifts, dims = d.choice([([2], []), ([1, -1], [0, 2]), ([-7], [1])])
    return [d.float([2, 3, 4])], lambda op, x: op(x, shifts, dims)


@case("constant_pad_nd")
def _(d):
    pads = d.choice([[1, 2], [0, 1, 2, 0], [-1, 1]])
    return [d.float([2, 3, 4])], lambda op, x: op(x, pads, 0.5)


@case("pad")
def _(d):
    mode = d.choice(["reflect", "replicate", "circular"])
    return [d.float([2, 3, 4, 5])], lambda op, x: op(x, [1, 2, 2, 1], mode)


@case("reflection_pad1d", "replication_pad1d")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, [2, 1])


@case("reflection_pad2d", "replication_pad2d")
def _(d):
    return [d.float([2, 3, 4, 5])], lambda op, x: op(x, [2, 1, 0, 1])


@case("index.Tensor")
def _(d):
    form = d.int(0, 3)
    x = d.float([4, 5, 6])
    i, j = d.ints([3], -4, 4), d.ints([2, 1], -5, 5)
    if form == 0:
        return [x, i], lambda op, x, i: op(x, [i])
    if form == 1:
        return [x, j], lambda op, x, j: op(x, [None, j])
    if form == 2:
        return [x, i, j], lambda op, x, i, j: op(x, [i, j])
    return [x, i, j], lambda op, x, i, j: op(x, [i, None, j])


@case("index_select")
def _(d):
    return [d.float([4, 5, 3]), d.ints([6], 0, 3)], lambda op, x, i: op(x, d.int(-3, 2), i)


@case("gather")
def _(d):
    dim = d.int(-2, 1)
    return [d.float([4, 5]), d.ints([3, 2], 0, 4)], lambda op, x, i: op(x, dim, i)


@case("take_along_dim")
def _(d):
    return [d.float([4, 5]), d.ints([4, 2], 0, 5)], lambda op, x, i: op(x, i, 1)


@case("index_add")
def _(d):
    return ([d.float([4, 3]), d.ints([6], 0, 4), d.float([6, 3])],
            lambda op, x, i, s: op(x, 0, i, s, alpha=2))


@case("embedding")
def _(d):
    padding = d.choice([-1, 2])
    return [d.float([7, 3]), d.ints([2, 4], 0, 7)], lambda op, w, i: op(w, i, padding)


@case("tril", "triu")
def _(d):
    return [d.float([2, 4, 5])], lambda op, x: op(x, d.int(-3, 3))


@case("pixel_shuffle")
def _(d):
    return [d.float([2, 8, 3, 2])], lambda op, x: op(x, 2)


@case("pixel_unshuffle")
def _(d):
    return [d.float([2, 2, 4, 6])], lambda op, x: op(x, 2)


@case("select_scatter")
def _(d):
    return [d.float([3, 4]), d.float([4])], lambda op, x, s: op(x, s, 0, -1)


@case(*["diagonal_scatter"] * 4)
def _(d):
    shape, offset = [d.choice([2, 3, 5]) for _ in range(d.int(2, 4))], d.int(-1, 1)
    a, b = d.choice([(0, 1), (1, 0), (-1, 0), (-2, -1)])
    x = d.float(shape)
    return [x, d.float(list(x.diagonal(offset, a, b).shape))], \
        lambda op, x, s: op(x, s, offset, a, b)


@case("slice_scatter", "slice_scatter")
def _(d):
    # Every second or third.
    step, begin = d.choice([2, 3]), d.choice([0, 1, -6])
    x = d.float([7, 3, 8])
    dim = d.choice([0, 2])
    end = d.choice([x.shape[dim], 6])
    part = x.movedim(dim, 0)[begin:end:step].movedim(0, dim)
    return [x, d.float(list(part.shape))], lambda op, x, s: op(x, s, dim, begin, end, step)


@case("slice_scatter")
def _(d):
    return [d.float([5, 4]), d.float([2, 4])], lambda op, x, s: op(x, s, 0, 1, 3)


@case("diff")
def _(d):
    return [d.float([3, 5])], lambda op, x: op(x, 1, d.choice([0, -1]))


# Constants.
@case("new_zeros", "new_ones")
def _(d):
    return [d.float([2])], lambda op, x: op(x, [2, 3])


@case("full_like")
def _(d):
    return [d.float([2, 3])], lambda op, x: op(x, 1.5)


@case("new_full")
def _(d):
    return [d.float([2, 3])], lambda op, x: op(x, [4], 1.5)


@case("zeros", "ones")
def _(d):
    return [d.float([2, 3])], lambda op, x: op([2, 3]) + x


@case("full")
def _(d):
    return [d.float([2, 3])], lambda op, x: op([2, 3], 2.5) + x


@case("arange")
def _(d):
    return [d.float([5])], lambda op, x: op(5) * x


@case("arange.start")
def _(d):
    return [d.float([3])], lambda op, x: op(2, 5) * x


@case("arange.start_step")
def _(d):
    return [d.float([4])], lambda op, x: op(1, 8, 2) * x


@case("linspace")
def _(d):
    return [d.float([5])], lambda op, x: op(-1, 1, 5) * x


@case("eye")
def _(d):
    return [d.float([3, 3])], lambda op, x: op(3) + x


@case("eye.m")
def _(d):
    return [d.float([3, 2])], lambda op, x: op(3, 2) + x


@case("scalar_tensor")
def _(d):
    return [d.float([3])], lambda op, x: op(1.5) * x


@case("_to_copy")
def _(d):
    dtype = d.choice([torch.int64, torch.float16, torch.bfloat16, torch.bool])
    return [d.far([2, 3], (0,))], lambda op, x: op(x, dtype=dtype)


@case("to.dtype")
def _(d):
    return [d.ints([2, 3], -3, 4)], lambda op, x: op(x, torch.float32)


# Products.
@case("mm")
def _(d):
    return [d.float([3, 4]), d.float([4, 5])], lambda op, a, b: op(a, b)


@case("bmm")
def _(d):
    return [d.float([2, 3, 4]), d.float([2, 4, 5])], lambda op, a, b: op(a, b)


@case("matmul", "matmul", "matmul")
def _(d):
    a, b = d.choice([([4], [4]), ([3, 4], [4]), ([4], [4, 5]), ([2, 3, 4], [4, 5]),
                     ([3, 4], [2, 4, 5]), ([2, 1, 3, 4], [3, 4, 2]), ([2, 3, 4], [4]),
                     ([4], [2, 4, 3])])
    return [d.float(a), d.float(b)], lambda op, a, b: op(a, b)


@case("mv")
def _(d):
    return [d.float([3, 4]), d.float([4])], lambda op, a, b: op(a, b)


@case("dot", "vdot")
def _(d):
    return [d.float([4]), d.float([4])], lambda op, a, b: op(a, b)


@case("outer")
def _(d):
    return [d.float([4]), d.float([3])], lambda op, a, b: op(a, b)


@case("addmm")
def _(d):
    beta, alpha = d.choice([(1, 1), (0.5, 2)])
    shape = d.choice([[5], [3, 5], [3, 1]])
    return ([d.float(shape), d.float([3, 4]), d.float([4, 5])],
            lambda op, c, a, b: op(c, a, b, beta=beta, alpha=alpha))


@case("baddbmm")
def _(d):
    return ([d.float([2, 3, 5]), d.float([2, 3, 4]), d.float([2, 4, 5])],
            lambda op, c, a, b: op(c, a, b, beta=0.5, alpha=2))


@case("addmv")
def _(d):
    return [d.float([3]), d.float([3, 4]), d.float([4])], lambda op, c, a, b: op(c, a, b)


@case("linear")
def _(d):
    x = d.choice([[4], [3, 4], [2, 3, 4]])
    if d.bool():
        return [d.float(x), d.float([5, 4])], lambda op, x, w: op(x, w)
    return [d.float(x), d.float([5, 4]), d.float([5])], lambda op, x, w, b: op(x, w, b)


@case("einsum", "einsum")
def _(d):
    equation, a, b = d.choice([
        ("bij,bjk->bik", [2, 3, 4], [2, 4, 5]), ("bhqd,bhkd->bhqk", [2, 2, 3, 4], [2, 2, 5, 4]),
        ("ij,kj->ik", [3, 4], [5, 4]), ("i,j->ij", [3], [4]), ("ijk,k->ij", [2, 3, 4], [4]),
        ("nctw,cd->ndtw", [2, 3, 2, 2], [3, 4])])
    return [d.float(a), d.float(b)], lambda op, a, b: op(equation, [a, b])


@case(*["einsum"] * 3)
def _(d):
    equation, *shapes = d.choice([
        ("ij,jk", [3, 4], [4, 2]), ("bi,bi", [2, 3], [2, 3]), ("cb,ba", [2, 3], [3, 4]),
        ("...ij,...jk->...ik", [2, 5, 3, 4], [5, 4, 2]), ("...i,i", [2, 3, 4], [4]),
        ("i...,...j->j...i", [3, 2, 1], [2, 4, 2]), ("b...->...", [3, 2, 4]),
        ("bij,bjk,bkl->bil", [2, 3, 4], [2, 4, 2], [2, 2, 3]),
        ("bi,bj,ijk,k->bk", [2, 3], [2, 4], [3, 4, 5], [5]),
        ("ij,ij->j", [3, 1], [3, 4])])
    return [d.float(s) for s in shapes], lambda op, *x: op(equation, list(x))


@case(*["einsum"] * 3)
def _(d):  # letters that stand twice in one tensor
    equation, *shapes = d.choice([
        ("ii->i", [3, 3]), ("ii", [4, 4]), ("bii,bi->bi", [2, 3, 3], [2, 3]),
        ("iji,jk->ik", [3, 2, 3], [2, 4]), ("...ii->...i", [2, 3, 3]),
        ("iijj->ij", [2, 2, 3, 3]), ("iii->i", [3, 3, 3])])
    return [d.float(s) for s in shapes], lambda op, *x: op(equation, list(x))


@case("einsum", "mm")
def _(d):  # of integers
    a, b = d.ints([3, 4], -9, 9), d.ints([4, 2], -9, 9)
    return [a, b], lambda op, a, b: op("ij,jk->ik", [a, b]) if "einsum" in str(op) else op(a, b)


@case(*["scaled_dot_product_attention"] * 6)
def _(d):
    heads, kv, t, s = 4, d.choice([4, 2]), 3, d.choice([3, 5])
    form = d.choice(["none", "bool", "float", "infinite", "causal"])
    q, k, v = d.float([2, heads, t, 6]), d.float([2, kv, s, 6]), d.float([2, kv, s, 6])
    options = {"enable_gqa": True} if kv != heads else {}
    if d.bool():
        options["scale"] = 0.3
    if form == "bool":
        mask = d.bools([2, 1, t, s])
        mask[..., 0] = True
        return [q, k, v, mask], lambda op, q, k, v, m: op(q, k, v, m, **options)
    if form == "float":
        return ([q, k, v, d.float([1, heads, t, s])],
                lambda op, q, k, v, m: op(q, k, v, m, **options))
    if form == "infinite":
        hidden = d.bools([1, 1, t, s])
        hidden[..., 0] = False
        return ([q, k, v, d.float([1, heads, t, s]), hidden],
                lambda op, q, k, v, m, h: op(q, k, v, torch.where(h, -torch.inf, m), **options))
    causal = form == "causal"
    return [q, k, v], lambda op, q, k, v: op(q, k, v, is_causal=causal, **options)


# Convolutions and pooling.
@case("conv2d", "conv2d", "convolution")
def _(d):
    groups = d.choice([1, 2])
    stride, padding, dilation = d.int(1, 2), d.int(0, 2), d.int(1, 2)
    x, w, b = d.float([2, 4, 7, 6]), d.float([6, 4 // groups, 3, 2]), d.float([6])

    def call(op, x, w, b):
        if "convolution" in str(op):
            return op(x, w, b, [stride] * 2, [padding] * 2, [dilation] * 2, False, [0, 0],
                      groups)
        return op(x, w, b, [stride] * 2, [padding] * 2, [dilation] * 2, groups)
    return [x, w, b], call


@case("conv2d")
def _(d):
    # Patches: windows that neither overlap nor leave out elements.
    height, width = d.int(1, 4), d.int(2, 5)
    batch, channels, count = d.int(1, 3), d.choice([1, 3, 16]), d.choice([1, 8, 33])
    x = d.float([batch, channels, height * d.int(1, 4), width * d.int(1, 4)])
    return [x, d.float([count, channels, height, width]), d.float([count])], \
        lambda op, x, w, b: op(x, w, b, [height, width])


@case("conv2d.padding")
def _(d):
    mode = d.choice(["same", "valid"])
    return ([d.float([2, 3, 6, 5]), d.float([4, 3, 3, 2])],
            lambda op, x, w: op(x, w, None, [1, 1], mode))


@case("conv1d")
def _(d):
    return ([d.float([2, 3, 8]), d.float([4, 3, 3]), d.float([4])],
            lambda op, x, w, b: op(x, w, b, [d.choice([1, 2])], [1]))


@case("conv1d.padding")
def _(d):
    return [d.float([2, 3, 8]), d.float([4, 3, 3])], lambda op, x, w: op(x, w, None, [1], "same")


@case("conv_transpose2d.input", "conv_transpose2d.input")
def _(d):
    groups, stride, padding = d.choice([1, 2]), d.int(1, 3), d.int(0, 1)
    extra = d.int(0, stride - 1)
    return ([d.float([2, 4, 5, 4]), d.float([4, 6 // groups, 3, 2]), d.float([6])],
            lambda op, x, w, b: op(x, w, b, [stride] * 2, [padding] * 2, [extra] * 2, groups))


@case("conv_transpose2d.input")
def _(d):
    # More rows than a stride: zeros beyond those that windows reach.
    stride, padding = d.int(1, 2), d.int(0, 1)
    return ([d.float([2, 4, 5, 4]), d.float([4, 3, 3, 2]), d.float([3])],
            lambda op, x, w, b: op(x, w, b, [stride] * 2, [padding] * 2, [2, 2], 1, [3, 3]))


@case("conv_transpose1d")
def _(d):
    return [d.float([2, 4, 5]), d.float([4, 3, 3])], lambda op, x, w: op(x, w, None, [2], [1])


@case("max_pool2d")
def _(d):
    kernel, stride, padding, ceil = d.int(2, 3), d.int(1, 3), d.int(0, 1), d.bool()
    return ([d.distinct([2, 3, 7, 6])],
            lambda op, x: op(x, [kernel] * 2, [stride] * 2, [padding] * 2, [1, 1], ceil))


@case("max_pool1d")
def _(d):
    return [d.distinct([2, 3, 8])], lambda op, x: op(x, [3], [2], [1])


@case("avg_pool2d")
def _(d):
    kernel, stride, padding, include = d.int(2, 3), d.int(1, 3), d.int(0, 1), d.bool()
    return ([d.float([2, 3, 7, 6])],
            lambda op, x: op(x, [kernel] * 2, [stride] * 2, [padding] * 2, False, include))


@case("avg_pool2d", "avg_pool2d", "avg_pool2d")
def _(d):
    # Windows that begin in the image and end outside, and what is then counted.
    kernel, stride = d.choice([[2, 3], [3, 2], [4, 4]]), d.choice([[2, 2], [3, 2], [1, 3]])
    padding, include, divisor = d.int(0, 1), d.bool(), d.choice([None, None, 3, -2])
    return ([d.float([2, 3, 8, 6])],
            lambda op, x: op(x, kernel, stride, [padding] * 2, True, include, divisor))


@case("avg_pool1d")
def _(d):
    return [d.float([2, 3, 8])], lambda op, x: op(x, [3], [2], [1])


@case("adaptive_avg_pool2d", "adaptive_avg_pool2d")
def _(d):
    return [d.float([2, 3, 6, 4])], lambda op, x: op(
        x, d.choice([[1, 1], [3, 2], [4, 3], [7, 7]]))


@case("adaptive_avg_pool1d")
def _(d):
    return [d.float([2, 3, 6])], lambda op, x: op(x, [d.choice([1, 2, 4])])


@case("adaptive_max_pool2d", "adaptive_max_pool2d", "adaptive_max_pool2d",
      "adaptive_max_pool2d")
def _(d):
    size = d.choice([[3, 2], [4, 3], [7, 7], [4, 4], [5, 1], [1, 6]])
    return [d.few([2, 3, 6, d.choice([1, 4, 10])])], lambda op, x: op(x, size)[0]


@case("upsample_nearest2d.vec")
def _(d):
    return [d.float([2, 3, 2, 4])], lambda op, x: op(x, [4, 12], None)


@case("upsample_bilinear2d.vec")
def _(d):
    corners = d.bool()
    if d.bool():
        return [d.float([2, 3, 3, 4])], lambda op, x: op(x, None, corners, [2.0, 1.5])
    return [d.float([2, 3, 3, 4])], lambda op, x: op(x, [5, 7], corners, None)


# Normalization.
@case("layer_norm")
def _(d):
    dims = d.choice([[4], [3, 4]])
    if d.bool():
        return [d.float([2, 3, 4])], lambda op, x: op(x, dims, None, None, 1e-3)
    return ([d.float([2, 3, 4]), d.float(dims), d.float(dims)],
            lambda op, x, w, b: op(x, dims, w, b, 1e-3))


@case("native_layer_norm")
def _(d):
    return ([d.float([2, 3, 4]), d.float([4]), d.float([4])],
            lambda op, x, w, b: op(x, [4], w, b, 1e-3)[0])


@case("rms_norm")
def _(d):
    return [d.float([2, 3, 4]), d.float([4])], lambda op, x, w: op(x, [4], w, d.choice([None, 1e-3]))


@case("group_norm")
def _(d):
    shape = d.choice([[2, 4, 3], [2, 4, 3, 2]])
    return ([d.float(shape), d.float([4]), d.float([4])],
            lambda op, x, w, b: op(x, 2, w, b, 1e-3))


@case("native_group_norm")
def _(d):
    return ([d.float([2, 4, 6]), d.float([4]), d.float([4])],
            lambda op, x, w, b: op(x, w, b, 2, 4, 6, 2, 1e-3)[0])


@case("instance_norm")
def _(d):
    shape = d.choice([[2, 4, 5], [2, 4, 3, 2], [2, 4, 2, 3, 2]])
    return ([d.float(shape), d.float([4]), d.float([4]), d.float([4]), d.float([4], 0.5, 2)],
            lambda op, x, w, b, m, v: op(x, w, b, m.detach(), v.detach(), False, 0.1, 1e-3,
                                         False))


@case("instance_norm")
def _(d):
    return ([d.float([2, 4, 3, 3]), d.float([4]), d.float([4])],
            lambda op, x, w, b: op(x, w, b, None, None, True, 0.1, 1e-3, False))


@case("batch_norm")
def _(d):
    shape = d.choice([[5, 3], [4, 3, 2], [2, 3, 4, 2]])
    training = d.bool()
    return ([d.float(shape), d.float([3]), d.float([3])],
            lambda op, x, w, b: op(x, w, b, None if training else torch.zeros_like(w.detach()),
                                      None if training else torch.ones_like(w.detach()), training,
                                      0.1, 1e-3, False))


# Recurrent layers.
@case("lstm.input")
def _(d):
    return ([d.float([2, 3, 4]), d.float([1, 3, 5]), d.float([1, 3, 5]), d.float([20, 4]),
             d.float([20, 5]), d.float([20]), d.float([20])],
            lambda op, x, h, c, *w: op(x, [h, c], list(w), True, 1, 0.0, False, False, False))


@case("lstm.input", "lstm.input")
def _(d):
    # The hidden state is narrower than the cell's.
    layers, both, biases, first = d.int(1, 2), d.bool(), d.bool(), d.bool()
    directions = 2 if both else 1
    weights = []
    for layer in range(layers):
        width = 4 if layer == 0 else 3 * directions
        weights += ([[20, width], [20, 3]] + [[20], [20]] * biases + [[3, 5]]) * directions
    count = layers * directions
    return ([d.float([2, 3, 4]), d.float([count, 2 if first else 3, 3]),
             d.float([count, 2 if first else 3, 5])] + [d.float(s) for s in weights],
            lambda op, x, h, c, *w: op(x, [h, c], list(w), biases, layers, 0.0, False, both,
                                       first))


@case("gru.input")
def _(d):
    return ([d.float([3, 2, 4]), d.float([2, 3, 5])]
            + [d.float(s) for s in [[15, 4], [15, 5], [15], [15]] * 2],
            lambda op, x, h, *w: op(x, h, list(w), True, 1, 0.0, False, True, True))


@case("rnn_tanh.input", "rnn_relu.input")
def _(d):
    return ([d.float([2, 3, 4]), d.float([1, 3, 5]), d.float([5, 4]), d.float([5, 5])],
            lambda op, x, h, *w: op(x, h, list(w), False, 1, 0.0, False, False, False))


# Losses.
@case("mse_loss", "l1_loss")
def _(d):
    shape, reduction = d.shape(1, 3), d.int(0, 2)
    return [d.float(shape), d.float(shape, 3, 4)], lambda op, x, y: op(x, y, reduction)


@case("smooth_l1_loss", "huber_loss")
def _(d):
    shape, reduction = d.shape(1, 3), d.int(0, 2)
    return [d.float(shape), d.float(shape)], lambda op, x, y: op(x, y, reduction, 0.7)


@case("binary_cross_entropy_with_logits")
def _(d):
    reduction = d.int(0, 2)
    if d.bool():
        return ([d.float([3, 4]), d.float([3, 4], 0, 1)],
                lambda op, x, y: op(x, y, None, None, reduction))
    return ([d.float([3, 4]), d.float([3, 4], 0, 1), d.float([4]), d.float([4], 0.5, 2)],
            lambda op, x, y, w, p: op(x, y, w.detach(), p.detach(), reduction))


@case("binary_cross_entropy")
def _(d):
    return ([d.float([3, 4], 0.1, 0.9), d.bools([3, 4])],
            lambda op, x, y: op(x, y.to(x.dtype), None, d.int(0, 2)))


@case("_ctc_loss.Tensor", "_ctc_loss.Tensor")
def _(d):
    # Targets that repeat, that do not fit, and none at all; after them anything.
    steps, batch, size, classes = d.int(3, 9), d.int(1, 3), d.int(1, 4), d.int(2, 5)
    blank, reduction, zero = d.int(0, classes - 1), d.int(0, 2), d.bool()
    lengths = d.ints([batch], 0 if zero or size < 2 else 1, size + 1)
    targets = (d.ints([batch, size], 1, classes) + blank) % classes
    targets[torch.arange(size) >= lengths[:, None]] = -7
    # Those that fit have a step for each target, and one between equal ones.
    inputs = d.ints([batch], 1 if zero else min(2 * size, steps), steps + 1)
    zero |= bool((inputs < 2 * lengths - 1).any())
    if reduction == 0 or batch == 1 and d.bool():
        reduction = 2
    return ([d.float([steps, batch, classes]), targets, inputs, lengths],
            lambda op, x, y, a, b: torch.ctc_loss(
                x.log_softmax(-1), y, a, b, blank, reduction, zero))


@case("_ctc_loss.Tensor")
def _(d):
    # The second step allows the target's second class alone: the others have the probability 0.
    # The loss alone, since PyTorch's gradient is NaN there.
    mask = torch.zeros(4, 1, 4, dtype=torch.bool)
    mask[1, :, [0, 1, 3]] = True
    return ([d.float([4, 1, 4])],
            lambda op, x: torch.ctc_loss(
                x.detach().masked_fill(mask, float("-inf")).log_softmax(-1),
                torch.tensor([[1, 2, 3]]),
                torch.tensor([4]), torch.tensor([3]), 0, 2, False))


@case("kl_div")
def _(d):
    logged = d.bool()
    return ([d.float([3, 4], -3, 0), d.float([3, 4], 0.1, 0.9)],
            lambda op, x, y: op(x, y, d.int(0, 2), log_target=logged))


@case(*["cross_entropy_loss"] * 4)
def _(d):
    reduction, smoothing = d.int(0, 2), d.choice([0.0, 0.1])
    x, y = d.choice([([5, 4], [5]), ([3, 4, 2], [3, 2]), ([2, 4, 3, 2], [2, 3, 2]), ([4], [])])
    labels = d.ints(y, 0, 4)
    if y and d.bool():
        labels.view(-1)[0] = -100
    weighted = d.bool()
    return ([d.float(x), labels, d.float([4], 0.5, 2)],
            lambda op, x, y, w: op(x, y, w.detach() if weighted else None, reduction, -100,
                                   smoothing))


@case("cross_entropy_loss")
def _(d):
    reduction, smoothing, weighted = d.int(0, 2), d.choice([0.0, 0.1]), d.bool()
    classes, rest = d.choice([(4, [2, 37]), (10, [3, 5, 7]), (3, [2, 16, 8])])
    labels = d.ints(rest, 0, classes)
    labels.view(-1)[::7] = -100
    return ([d.float(rest[:1] + [classes] + rest[1:]), labels, d.float([classes], 0.5, 2)],
            lambda op, x, y, w: op(x, y, w.detach() if weighted else None, reduction, -100, smoothing))


@case("cross_entropy_loss")
def _(d):
    return ([d.float([5, 4]), d.float([5, 4], 0, 1)],
            lambda op, x, y: op(x, y, None, d.int(0, 2), -100, d.choice([0.0, 0.1])))


@case("nll_loss_nd", "nll_loss")
def _(d):
    return ([d.float([5, 4], -3, 0), d.ints([5], 0, 4)],
            lambda op, x, y: op(x, y, None, d.int(0, 2), d.choice([-100, 1])))


@case("soft_margin_loss")
def _(d):
    return ([d.float([3, 4]), d.bools([3, 4])],
            lambda op, x, y: op(x, y.to(x.dtype) * 2 - 1, d.int(0, 2)))


@case("poisson_nll_loss")
def _(d):
    logged = d.bool()
    return ([d.float([3, 4], 0.2, 2), d.ints([3, 4], 0, 4)],
            lambda op, x, y: op(x, y, logged, False, 1e-8, d.int(0, 2)))


@case("margin_ranking_loss")
def _(d):
    return ([d.float([5]), d.float([5]), d.bools([5])],
            lambda op, x, y, t: op(x, y, t.to(x.dtype) * 2 - 1, 0.3, d.int(0, 2)))


@case("hinge_embedding_loss")
def _(d):
    return ([d.float([5], 0, 2), d.bools([5])],
            lambda op, x, t: op(x, t.to(x.dtype) * 2 - 1, 0.7, d.int(0, 2)))


@case("cosine_similarity")
def _(d):
    return [d.float([3, 4]), d.float([3, 4])], lambda op, x, y: op(x, y, d.choice([0, 1]))


# Forms of ops above.
@case("adaptive_max_pool1d", "adaptive_max_pool1d")
def _(d):
    return [d.few([2, 3, 6])], lambda op, x: op(x, [d.choice([3, 4, 5, 8])])[0]


@case("max_pool1d_with_indices")
def _(d):
    return [d.distinct([2, 3, 8])], lambda op, x: op(x, [3], [2], [1])[0]


@case("max_pool1d", "avg_pool1d", "adaptive_avg_pool1d")
def _(d):
    return [d.distinct([3, 8])], lambda op, x: op(x, [4])


@case("avg_pool2d", "max_pool2d", "adaptive_avg_pool2d")
def _(d):
    return [d.distinct([3, 8, 6])], lambda op, x: op(x, [2, 3])


@case("conv2d", "conv_transpose2d.input")
def _(d):
    return [d.float([3, 6, 5]), d.float([3, 3, 2, 2])], lambda op, x, w: op(x, w)


@case("clamp.Tensor")
def _(d):
    # Where the lower bound is above the upper, the upper counts.
    return ([d.float([3, 4]), d.float([4], 0, 1), d.float([4], -1, 0)],
            lambda op, x, a, b: op(x, a, b))


@case("sinh", "cosh", "expm1", "tanh")
def _(d):
    return [torch.cat([d.float([8], -15, 15), torch.zeros(1)])], lambda op, x: op(x)


@case("max_pool2d")
def _(d):
    x = d.distinct([2, 3, 7, 6])
    x[0, 1, 2, 3] = float("nan")
    return [x], lambda op, x: torch.nan_to_num(op(x, [2, 2], [1, 1], [0, 0], [2, 2]), nan=0.5)


@case("max_pool2d_with_indices")
def _(d):
    return [d.distinct([2, 3, 6, 5])], lambda op, x: op(x, [3, 3], [2, 2], [1, 1])[0]


@case("log_sigmoid_forward")
def _(d):
    return [d.float([2, 3])], lambda op, x: op(x)[0]


@case("meshgrid")
def _(d):
    return [d.float([3]), d.float([4])], lambda op, x, y: op([x, y])


@case("moveaxis.int")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, 0, -1)


@case("nll_loss2d")
def _(d):
    return [d.float([2, 4, 3, 2], -3, 0), d.ints([2, 3, 2], 0, 4)], lambda op, x, y: op(x, y)


@case("nll_loss_forward")
def _(d):
    return ([d.float([5, 4], -3, 0), d.ints([5], 0, 4)],
            lambda op, x, y: op(x, y, None, 1, -100)[0])


@case("one_hot")
def _(d):
    return [d.ints([2, 3], 0, 5)], lambda op, x: op(x, 5)


@case("upsample_bilinear2d")
def _(d):
    return [d.float([2, 3, 3, 4])], lambda op, x: op(x, [5, 7], d.bool())


@case("upsample_nearest2d")
def _(d):
    return [d.float([2, 3, 3, 4])], lambda op, x: op(x, [6, 4])


@case("copy")
def _(d):
    return [d.float([2, 3]), d.float([3])], lambda op, x, y: op(x, y)


@case("fill.Scalar")
def _(d):
    return [d.float([2, 3])], lambda op, x: op(x, 1.5)


@case("alias")
def _(d):
    # Between two convolutions values are [N, H, W, C]; elementwise ops keep them so.
    def call(op, x, w, b, s, t):
        y = torch.nn.functional.conv2d(x, w, padding=1)
        y = torch.relu(op(y) + b) * s + t
        y = torch.cat([y, torch.nn.functional.pad(y, (1, 1, 0, 0))[..., 1:-1]], 1)
        y = y[:, 1:5, 1:].softmax(1) * y.mean((2, 3), keepdim=True)[:, 1:5]
        return torch.nn.functional.conv2d(y.permute(0, 2, 3, 1).permute(0, 3, 1, 2), w[:, :1]
                                          .expand(-1, 4, -1, -1)).sum((2, 3))
    return ([d.float([2, 3, 6, 5]), d.float([4, 3, 3, 3]), d.float([4, 1, 1]),
             d.float([2, 4, 1, 1]), d.float([5])], call)


# Inverse and other functions.
unary("atan arctan asinh arcsinh sinc special_sinc", -3, 3)
unary("asin arcsin acos arccos atanh arctanh", -0.95, 0.95)
unary("acosh arccosh", 1.05, 4)
unary("isposinf isneginf signbit")


@case("atan", "asinh")
def _(d):
    return [torch.cat([d.float([20], -40, 40), torch.zeros(1)])], lambda op, x: op(x)


@case("atan2", "arctan2")
def _(d):
    shape = d.shape()
    return [d.float(shape), d.float(d.like(shape))], lambda op, y, x: op(y, x)


binary("logaddexp2 copysign.Tensor isclose")
binary("float_power.Tensor_Tensor", 0.2, 3)


@case("copysign.Scalar")
def _(d):
    return [d.far(d.shape(), (0,))], lambda op, x: op(x, d.choice([-1.0, 2.0]))


@case("float_power.Tensor_Scalar")
def _(d):
    return [d.float(d.shape(), 0.3, 2)], lambda op, x: op(x, 1.7)


@case("float_power.Scalar")
def _(d):
    return [d.float(d.shape())], lambda op, x: op(1.7, x)


@case("heaviside")
def _(d):
    return ([d.ints([3, 4], -1, 2), d.ints([4], 0, 3)], lambda op, x, v: op(x, v))


@case("ldexp.Tensor")
def _(d):
    return [d.float([3, 4]), d.ints([4], -3, 4)], lambda op, x, e: op(x, e)


# Scans and further reductions.
@case("cumsum", "cumsum")
def _(d):
    # More elements than a triangle is made for.
    size, first = d.int(1025, 6000), d.bool()
    if d.bool():
        x = d.ints([size, 2] if first else [2, size], -9, 10)
        return [x], lambda op, x: op(x, 0 if first else 1)
    return [d.float([size, 2] if first else [2, size])], lambda op, x: op(x, 0 if first else 1)


@case("cumprod", "logcumsumexp")
def _(d):
    shape = d.shape(1, 4)
    dim = d.dim(len(shape))
    return [d.float(shape, 0.3, 1.5)], lambda op, x: op(x, dim)


@case("cummax", "cummin")
def _(d):
    shape = d.shape(1, 4, (2, 3, 7))
    dim = d.dim(len(shape))
    return [d.distinct(shape)], lambda op, x: op(x, dim)[0]


@case("aminmax")
def _(d):
    keep = d.bool()
    return [d.distinct([3, 4])], lambda op, x: op(x, dim=d.choice([0, 1, -1]), keepdim=keep)


@case("nansum", "nanmean")
def _(d):
    def call(op, x, m):
        return op(torch.where(m, x, float("nan")), [0], d.bool())
    return [d.float([6, 4]), d.bools([6, 4])], call


@case("dist")
def _(d):
    return [d.float([3, 4]), d.float([4])], lambda op, x, y: op(x, y, d.choice([1, 2, 3]))


@case("frobenius_norm.dim")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, [0, 2], d.bool())


# Scatters and sorting.
@case("take")
def _(d):
    return [d.float([3, 4]), d.ints([2, 5], -12, 12)], lambda op, x, i: op(x, i)


@case("index_add", "index_add")
def _(d):
    dim = d.choice([0, 1, -1])
    source = [4, 3, 5]
    source[dim] = 6
    return ([d.float([4, 3, 5]), d.ints([6], 0, 3), d.float(source)],
            lambda op, x, i, s: op(x, dim, i, s))


@case("index_copy")
def _(d):
    dim = d.choice([0, 1])
    shape = [4, 3]
    shape[dim] = 2
    return ([d.float([4, 3]), torch.tensor([2, 0]), d.float(shape)],
            lambda op, x, i, s: op(x, dim, i, s))


@case("index_fill.int_Scalar")
def _(d):
    return [d.float([4, 3]), d.ints([2], 0, 3)], lambda op, x, i: op(x, d.choice([0, 1]), i, 0.5)


@case("index_fill.int_Tensor")
def _(d):
    return ([d.float([4, 3]), d.ints([2], 0, 3), d.float([])],
            lambda op, x, i, v: op(x, 1, i, v))


@case("scatter_add", "scatter_add")
def _(d):
    dim = d.choice([0, 1, -1])
    shape = [2, 3, 4] if d.bool() else [3, 3, 5]
    return ([d.float([3, 3, 5]), d.ints(shape, 0, 3), d.float(shape)],
            lambda op, x, i, s: op(x, dim, i, s))


@case("scatter_add", "take")
def _(d):
    x = d.ints([5], -9, 9)
    if d.bool():
        return [d.float([5]), d.ints([3], 0, 5)], (
            lambda op, x, i: op(x, i) if "take" in str(op) else op(x, 0, i, x[:3] * 2))
    return [x, d.ints([3], 0, 5)], (
        lambda op, x, i: op(x, i) if "take" in str(op) else op(x, 0, i, x[:3]))


def different(d, count, size):
    """Different indices below `size`."""
    return torch.randperm(size, generator=d.torch)[:count]


@case("scatter.src")
def _(d):
    index = torch.stack([different(d, 3, 5) for _ in range(4)])
    if d.bool():
        return [d.float([4, 5]), index, d.float([4, 3])], lambda op, x, i, s: op(x, 1, i, s)
    return ([d.ints([5, 4], -9, 9), index.t().contiguous(), d.ints([3, 4], -9, 9)],
            lambda op, x, i, s: op(x, 0, i, s))


@case("scatter.value")
def _(d):
    return [d.float([4, 5]), d.ints([4, 3], 0, 5)], lambda op, x, i: op(x, -1, i, 0.5)


@case(*["scatter_reduce.two"] * 3)
def _(d):
    # Places too many to look at all numbers; some are brought nothing, some infinities.
    kind, include, dim = d.choice(["amax", "amin"]), d.bool(), d.int(0, 1)
    shape, index = [3, 3], [2, 2]
    shape[dim], index[dim] = 70, 200
    return ([d.float(shape), d.ints(index, 0, 70), d.distinct(index)],
            lambda op, x, i, s: op(x, dim, i, s, kind, include_self=include))


@case("scatter_reduce.two")
def _(d):
    # Of a row of infinities, and of NaNs, where PyTorch's gradient is 0 / 0.
    s = d.distinct([300])
    s[d.int(0, 299)] = float("nan")
    return ([d.ints([300], 0, 90), s],
            lambda op, i, s: torch.nan_to_num(op(
                torch.full((90,), -torch.inf, dtype=s.dtype), 0, i, s.detach(), "amax"),
                1.0, 2.0, 3.0))


@case(*["scatter_reduce.two"] * 3)
def _(d):
    # Whole rows: some places are brought many of them, some none; equal numbers share.
    kind, include, inner = d.choice(["amax", "amin"]), d.bool(), d.choice([[3], [2, 2]])
    few = d.bool()
    index = torch.where(torch.rand(300, generator=d.torch) < 0.4, d.ints([300], 0, 70), 7)
    x, s = [(d.few if few else d.float)(shape + inner) for shape in ([70], [300])]
    # PyTorch's gradient has a part for x where it equals the result, though it is not included.
    x = x if include else x + 0.5

    def run(op, x, i, s):
        i = i.reshape([-1] + [1] * len(inner)).expand_as(s)
        return op(x, 0, i, s, kind, include_self=include)

    return [x, index, s], run


@case("scatter_reduce.two")
def _(d):
    # Rows with infinities and NaNs, where PyTorch's gradient is 0 / 0.
    s = d.distinct([90, 4])
    s[d.int(0, 89)] = float("nan")
    s[d.int(0, 89), 1] = float("inf")
    return ([d.ints([90], 0, 66), s],
            lambda op, i, s: torch.nan_to_num(op(
                torch.full((66, 4), -torch.inf, dtype=s.dtype), 0, i[:, None].expand_as(s),
                s.detach(), "amax"), 1.0, 2.0, 3.0))


@case(*["scatter_reduce.two"] * 5)
def _(d):
    kind = d.choice(["sum", "mean", "prod", "amax", "amin"])
    include, rank = d.bool(), d.int(0, 3)
    shape = [d.choice([2, 4, 5]) for _ in range(rank)]
    dim = d.dim(rank)
    index = [d.int(1, s) for s in shape]  # of fewer elements
    if rank:
        index[dim] = d.int(1, 6)
    return ([d.float(shape), d.ints(index, 0, shape[dim] if rank else 1), d.float(index)],
            lambda op, x, i, s: op(x, dim, i, s, kind, include_self=include))


@case("scatter_add", "scatter.src", "scatter.value", *["scatter_reduce.two"] * 3)
def _(d):
    # Whole rows, as torch_geometric and torch_scatter spell them.
    kind, include, inner = d.choice(["sum", "mean"]), d.bool(), d.choice([[3], [2, 4]])
    count, rows = d.choice([(3, 5), (4, 4)]), d.bool()
    index = different(d, *count)

    def run(op, x, i, s):
        i = i.reshape([-1] + [1] * len(inner))
        i = i.expand(-1, *inner) if rows else i.expand_as(s)
        if "reduce" in str(op):
            # Other rows than those may meet.
            return op(x, 0, i // 2, s, kind, include_self=include)
        return op(x, 0, i, 0.5 if "value" in str(op) else s)

    return [d.float([count[1], *inner]), index, d.float([count[0], *inner])], run


@case("scatter.reduce", "scatter.value_reduce")
def _(d):
    kind, dim = d.choice(["add", "multiply"]), d.dim(2)
    x, index = d.float([4, 5]), d.ints([3, 5], 0, 4)
    return ([x, index, d.float([3, 5])],
            lambda op, x, i, s: op(x, dim, i, 1.5 if "value" in str(op) else s, reduce=kind))


@case("as_strided", "as_strided")
def _(d):
    size, stride = d.choice([([4], [6]), ([3, 2], [5, 5]), ([2, 3, 2], [1, 5, 2])])
    return [d.float([4, 5])], lambda op, x: op(x, size, stride, d.int(0, 1))


def scatter_strided(x, y, size, stride, storage_offset=None):
    """What torch.export makes as_strided_scatter of. The gradient of that op itself fails
    PyTorch's gradcheck: x gets what y's places have."""
    result = x.clone()
    result.as_strided(size, stride, storage_offset).copy_(y)
    return result


@case("as_strided_scatter")
def _(d):
    size, stride = d.choice([([4], [6]), ([3, 2], [6, 5]), ([2, 3], [2, 5])])
    return ([d.float([4, 5]), d.float(size)],
            lambda op, x, y: scatter_strided(x, y, size, stride, d.int(0, 1)))


@case(*["embedding_bag", "embedding_bag.padding_idx"] * 3)
def _(d):
    mode = d.choice([0, 1, 2])
    table, padded = d.float([7, 3]), d.choice([None, -1, 2])

    def options(op, weights, last):
        return [False, mode, False, weights, last,
                *([padded] if "padding" in str(op) else [])]

    if mode == 2 or d.bool():  # bags of one length
        return ([table, d.ints([8], 0, 7)],
                lambda op, w, i: op(w, i, torch.arange(0, 8, 2), *options(op, None, False))[0])
    offsets = torch.tensor([0, 3, 3, 5] + [8] * (last := d.bool()))
    if mode == 0 and d.bool():
        return ([table, d.ints([8], 0, 7), offsets, d.float([8])],
                lambda op, w, i, o, s: op(w, i, o, *options(op, s, last))[0])
    return ([table, d.ints([8], 0, 7), offsets],
            lambda op, w, i, o: op(w, i, o, *options(op, None, last))[0])


@case("_grouped_mm", "_grouped_mm")
def _(d):
    ends = torch.tensor(d.choice([[2, 5, 8], [0, 8, 8], [3, 3, 8]]), dtype=torch.int32)

    def call(op, x, w, ends):
        if x.dtype != torch.float64:
            return op(x, w, ends)
        rows = torch.arange(len(x))[:, None]  # PyTorch's has no f64.
        return sum((x * ((rows >= (ends[i - 1] if i else 0)) & (rows < ends[i]))) @ w[i]
                   for i in range(len(w)))
    if d.bool():
        return [d.float([8, 16]), d.float([3, 16, 8]), ends], call
    # So many rows that they are multiplied in blocks; those of one group fill all but one.
    ends = torch.tensor(d.choice([[60, 131, 200, 256], [0, 256, 256, 256], [256] * 4, [64, 128, 192, 256],
                                  [0, 0, 0, 256], [1, 2, 3, 256], [0, 129, 129, 256]]), dtype=torch.int32)
    if d.bool():
        return [d.float([256, 8]), d.float([4, 8, 16]), ends], call
    return ([d.float([256, 8]), d.float([4, 16, 8]), ends],
            lambda op, x, w, ends: call(op, x, w.transpose(-2, -1), ends))


@case("histc", "histc")
def _(d):
    bins = d.choice([3, 8])
    return [d.float([5, 6])], lambda op, x: op(x.detach(), bins, -1.0, 1.5)


@case("affine_grid_generator", "affine_grid_generator")
def _(d):
    rank, corners = d.choice([2, 3]), d.bool()
    size = [2, 3, d.choice([1, 4]), 5, 3][:rank + 2]
    return ([d.float([2, rank, rank + 1])], lambda op, theta: op(theta, size, corners))


@case("index_put", "_unsafe_index_put")
def _(d):
    if d.bool():  # whole rows
        return ([d.float([6, 3]), different(d, 3, 6), d.float([3])],
                lambda op, x, i, v: op(x, [i], v))
    return ([d.float([4, 2, 5]), different(d, 3, 4) - 4, different(d, 3, 5), d.float([3, 2])],
            lambda op, x, i, j, v: op(x, [i, None, j], v))


@case("index_put", "index_put")
def _(d):
    if d.bool():
        return ([d.float([4, 2, 5]), d.ints([2, 3], 0, 2), d.float([4, 2, 3, 5])],
                lambda op, x, i, v: op(x, [None, i], v, True))
    return ([d.float([4, 5]), d.ints([6], 0, 4), d.ints([6], 0, 5), d.float([])],
            lambda op, x, i, j, v: op(x, [i, j], v, True))


@case("index_put", "index_put")
def _(d):
    shape = [4, 3] if d.bool() else [4]
    return ([d.float([4, 3]), d.bools(shape), d.float([])],
            lambda op, x, m, v: op(x, [m], v, d.bool()))


@case("sort", "argsort", "msort", "sort.stable", "argsort.stable")
def _(d):
    shape, descending = d.shape(1, 3, (2, 3, 7)), d.bool()
    dim = d.dim(len(shape))

    def call(op, x):
        if "msort" in str(op):
            return op(x)
        if "stable" in str(op):
            return op(x, stable=True, dim=dim, descending=descending)
        return op(x, dim, descending)
    return [d.distinct(shape)], call


@case("sort.stable", "argsort.stable")
def _(d):
    # Equal elements keep their order.
    descending = d.bool()
    return [d.ints([3, 9], 0, 4)], lambda op, x: op(x, stable=True, dim=-1, descending=descending)


@case("sort.stable", "argsort.stable")
def _(d):
    # By a network; NaN is larger than all.
    size, descending = d.choice([65, 128, 300]), d.bool()
    x = d.ints([2, size], -9, 9).float()
    x[0, 3] = x[1, 60] = x[1, 9] = float("nan")
    return [x], lambda op, x: op(x, stable=True, dim=-1, descending=descending)


@case("kthvalue", "median.dim")
def _(d):
    # Found bit by bit.
    size = d.choice([65, 200, 1025])
    x, keep = d.distinct([2, size]), d.bool()
    x[0, 0], x[0, 1] = float("inf"), -float("inf")
    return [x], lambda op, x: op(x, 1, keep) if "median" in str(op) else op(x, d.int(1, size), 1, keep)


@case("median.dim")
def _(d):
    # The first NaN, if there is one.
    size = d.choice([5, 70])
    x = d.distinct([3, size])
    x[1, 4] = x[1, 2] = x[2, 0] = float("nan")
    return [x], lambda op, x: op(x, 1, d.bool())


@case("kthvalue")
def _(d):
    return [d.distinct([3, 7])], lambda op, x: op(x, d.int(1, 3), d.choice([0, 1]), d.bool())


@case("median")
def _(d):
    return [d.distinct(d.shape(1, 3, (2, 3, 5)))], lambda op, x: op(x)


@case("median.dim")
def _(d):
    return [d.distinct([4, 5])], lambda op, x: op(x, d.choice([0, 1]), d.bool())


@case("searchsorted.Tensor")
def _(d):
    edges = d.float([7]).sort()[0] if d.bool() else d.float([3, 7]).sort()[0]
    return [edges, d.float([3, 4])], lambda op, e, x: op(e, x, right=d.bool())


@case("bucketize.Tensor")
def _(d):
    return ([d.ints([3, 4], 0, 9), torch.tensor([1, 3, 6])],
            lambda op, x, e: op(x, e, right=d.bool()))


# Diagonals, windows of tensors.
@case("diagonal")
def _(d):
    dims = d.choice([(0, 1), (1, 2), (-1, 0)])
    return [d.float([3, 4, 5])], lambda op, x: op(x, d.int(-2, 2), *dims)


@case("diag")
def _(d):
    shape = [4] if d.bool() else [3, 5]
    return [d.float(shape)], lambda op, x: op(x, d.int(-2, 2))


@case("diag_embed")
def _(d):
    dims = d.choice([(-2, -1), (0, 2), (2, 1)])
    return [d.float([3, 4])], lambda op, x: op(x, d.int(-1, 2), *dims)


@case("trace")
def _(d):
    return [d.float([3, 5])], lambda op, x: op(x)


@case("unfold")
def _(d):
    dim, size, step = d.choice([0, 1, -1]), d.int(1, 6), d.int(1, 3)
    return [d.float([7, 6, 8])], lambda op, x: op(x, dim, size, step)


@case("rot90")
def _(d):
    times, dims = d.int(-2, 4), d.choice([[0, 1], [1, 2], [2, 0]])
    return [d.float([2, 3, 4])], lambda op, x: op(x, times, dims)


@case("fliplr", "flipud")
def _(d):
    return [d.float([3, 4, 2])], lambda op, x: op(x)


@case("channel_shuffle", "native_channel_shuffle")
def _(d):
    return [d.float([2, 6, 3, 2])], lambda op, x: op(x, d.choice([2, 3]))


@case("tril_indices", "triu_indices")
def _(d):
    offset = d.int(-1, 1)
    return [d.float([3, 4])], lambda op, x: (x[0, 0] * 0).to(torch.int64) + op(3, 4, offset)


# Matrices.
@case("inner")
def _(d):
    return [d.float([2, 3, 4]), d.float([5, 4])], lambda op, x, y: op(x, y)


@case("addr")
def _(d):
    return ([d.float([3, 4]), d.float([3]), d.float([4])],
            lambda op, x, a, b: op(x, a, b, beta=0.5, alpha=2))


@case("addbmm")
def _(d):
    return ([d.float([3, 4]), d.float([2, 3, 5]), d.float([2, 5, 4])],
            lambda op, x, a, b: op(x, a, b, beta=0.5, alpha=2))


@case("linalg_cross", "cross")
def _(d):
    return [d.float([2, 3, 4]), d.float([2, 3, 4])], lambda op, x, y: op(x, y, dim=1)


@case("bilinear")
def _(d):
    return ([d.float([2, 5, 3]), d.float([2, 5, 4]), d.float([6, 3, 4]), d.float([6])],
            lambda op, x, y, w, b: op(x, y, w, b))


@case(*["scaled_dot_product_attention"] * 3)
def _(d):
    # Fewer and more dimensions than a batch of heads.
    outer = d.choice([[], [2, 3, 2], [2, 1, 2, 2]])
    t, s, form = 3, 5, d.choice(["none", "bool", "float"])
    qkv = [d.float([*outer, n, 4]) for n in (t, s, s)]
    mask = d.choice([[t, s], [*outer[-1:], t, s], [*([1] * len(outer)), 1, s], [*outer, t, s]])
    if len(mask) < 2 + (len(outer) > 0) or form == "none":
        return qkv, lambda op, q, k, v: op(q, k, v)
    if form == "float":
        return [*qkv, d.float(mask)], lambda op, q, k, v, m: op(q, k, v, m)
    hidden = d.bools(mask)
    hidden[..., 0] = True
    return [*qkv, hidden], lambda op, q, k, v, m: op(q, k, v, m)


@case("scaled_dot_product_attention")
def _(d):
    # One head of keys and values for all, as tensors broadcast.
    return ([d.float([2, 4, 5, 6]), d.float([2, 1, 7, 6]), d.float([2, 1, 7, 6])],
            lambda op, q, k, v: op(q, k, v))


# Cells.
@case("lstm_cell")
def _(d):
    return ([d.float([3, 4]), d.float([3, 5]), d.float([3, 5]), d.float([20, 4]),
             d.float([20, 5]), d.float([20]), d.float([20])],
            lambda op, x, h, c, *w: op(x, [h, c], *w))


@case("gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def _(d):
    def call(op, x, h, *w):
        each = 15 if "gru" in str(op) else 5
        return op(x, h, *[p[:each] for p in w])
    return ([d.float([3, 4]), d.float([3, 5]), d.float([15, 4]), d.float([15, 5]),
             d.float([15]), d.float([15])], call)


# Losses.
@case("pairwise_distance")
def _(d):
    return ([d.float([5, 4]), d.float([5, 4])],
            lambda op, x, y: op(x, y, d.choice([1, 2]), 1e-6, d.bool()))


@case("cdist")
def _(d):
    # By a matmul, as PyTorch does from 26 rows on or where it is told to.
    mode = d.choice([None, 0, 1])
    rows = d.choice([3, 7]) if mode == 1 else 30
    batch = d.choice([[], [2], [2, 3]])
    return ([d.float(batch + [rows, 5]), d.float(batch + [4, 5])],
            lambda op, x, y: op(x, y, 2.0, mode))


@case("cdist")
def _(d):
    # Some rows are in both: their distance is 0, and has no gradient. Other differences are
    # distinct: of equal ones that are largest, PyTorch gives each the whole gradient.
    x = d.float(d.choice([[5, 4], [3, 5, 4], [2, 1, 5, 4]]))
    p = d.choice([0.0, 1.0, 2.0, float("inf")])
    y = torch.cat([x.flatten(0, -2)[:2], d.float([4, 4])])
    return [x, y], lambda op, x, y: op(x, y, p, None)


def matrices(d):
    """Square ones, far from singular, whose largest elements are off the diagonal."""
    size = d.choice([1, 2, 3, 6])
    order = torch.randperm(size, generator=d.torch)
    return d.float(d.choice([[], [2], [2, 3]]) + [size, size], -1, 1) + 3 * torch.eye(size)[order]


def batched(d, rows, columns):
    return d.float(d.choice([[], [2], [2, 3]]) + [rows, columns], -1, 1)


def factor(d, size, upper):
    """A triangle with a diagonal far from zero."""
    x = d.float([size, size], -1, 1) / size
    return (x.triu() if upper else x.tril()) + torch.eye(size)


def triangle(x, upper):
    """PyTorch's cholesky_solve gives the triangle that it does not read a gradient, too."""
    return x.triu() if upper else x.tril()


@case("cholesky", "linalg_cholesky", "linalg_cholesky_ex")
def _(d):
    size, upper = d.choice([1, 2, 5, 8, 70]), d.bool()
    x = batched(d, size, size)
    return [x @ x.mT / size + torch.eye(size)], lambda op, x: op(x, upper=upper)


@case("linalg_solve_triangular")
def _(d):
    size, upper, left, unit = d.choice([1, 3, 8, 13]), d.bool(), d.bool(), d.bool()
    b = batched(d, size, 3)
    return [factor(d, size, upper), b if left else b.mT], lambda op, a, b: op(
        a, b, upper=upper, left=left, unitriangular=unit)


@case("triangular_solve")
def _(d):
    size, upper, turned, unit = d.choice([1, 3, 8]), d.bool(), d.bool(), d.bool()
    return [d.float([size, 2], -1, 1), factor(d, size, upper)], lambda op, b, a: op(
        b, a, upper, turned, unit)[0]


@case("cholesky_solve")
def _(d):
    size, upper = d.choice([1, 3, 8]), d.bool()
    return [batched(d, size, 2), factor(d, size, upper)], lambda op, b, a: op(
        b, triangle(a, upper), upper)


@case("cholesky_inverse")
def _(d):
    size, upper = d.choice([1, 3, 8]), d.bool()
    return [factor(d, size, upper)], lambda op, a: op(triangle(a, upper), upper)


@case("inverse", "linalg_inv", "linalg_inv_ex")
def _(d):
    return [matrices(d)], lambda op, x: op(x)


@case("linalg_solve", "linalg_solve_ex")
def _(d):
    a, left = matrices(d), d.bool()
    size = a.shape[-1]
    if d.bool():
        return [a, d.float(a.shape[:-1], -1, 1)], lambda op, a, b: op(a, b)
    b = batched(d, size, 2) if a.dim() == 2 else d.float([*a.shape[:-1], 2], -1, 1)
    return [a, b if left else b.mT], lambda op, a, b: op(a, b, left=left)


@case("matrix_power", "linalg_matrix_power")
def _(d):
    n = d.choice([-3, -1, 0, 1, 2, 5])
    return [matrices(d) / 3], lambda op, x: op(x, n)


@case("matrix_exp", "linalg_matrix_exp")
def _(d):
    x = batched(d, 5, 5) * d.choice([0.01, 1, 4])
    return [x - x.mT], lambda op, x: op(x)


@case("linalg_householder_product", "orgqr")
def _(d):
    columns = d.choice([1, 3, 5])
    x = batched(d, 5, columns)
    return [x, d.float([*x.shape[:-2], columns], 0, 1)], lambda op, x, tau: op(x, tau)


@case("kron")
def _(d):
    return [d.float(d.shape(1, 3, (1, 2, 3)), -1, 1),
            d.float(d.shape(1, 3, (1, 2, 3)), -1, 1)], lambda op, a, b: op(a, b)


@case("block_diag")
def _(d):
    return [d.float([2, 3], -1, 1), d.float([4], -1, 1), d.float([1, 2], -1, 1)], \
        lambda op, *xs: op(xs)


@case("linalg_multi_dot", "chain_matmul")
def _(d):
    return [d.float([2, 3], -1, 1), d.float([3, 5], -1, 1), d.float([5, 4], -1, 1)], \
        lambda op, *xs: op(xs)


@case("det", "linalg_det")
def _(d):
    return [matrices(d)], lambda op, x: op(x)


def symmetric(d):
    """With eigenvalues that are far from each other."""
    size, batch = d.choice([1, 2, 3, 6]), d.choice([[], [2], [2, 3]])
    vectors = torch.linalg.qr(d.float(batch + [size, size], -1, 1))[0]
    values = torch.arange(size).float() * 1.5 - 2 + d.float(batch + [size], -0.2, 0.2)
    return (vectors * values.unsqueeze(-2)) @ vectors.mT


@case(*["linalg_eigh"] * 3)
def _(d):
    # Of vectors what does not depend on their signs.
    upper = d.choice(["L", "U"])

    def run(op, x):
        values, vectors = op((x + x.mT) / 2, upper)
        return values, vectors * vectors.roll(1, -2)
    return [symmetric(d)], run


@case("linalg_eigvalsh", "linalg_eigvalsh")
def _(d):
    return [symmetric(d)], lambda op, x: op((x + x.mT) / 2)


@case(*["linalg_svd"] * 4)
def _(d):
    rows, columns = d.choice([(3, 3), (5, 2), (2, 4), (1, 3), (6, 6)])
    x = d.float(d.choice([[], [2], [2, 3]]) + [rows, columns], -1, 1)
    u, s, v = torch.linalg.svd(x, full_matrices=False)
    x = (u * (torch.arange(s.shape[-1], 0, -1).float() + 0.2 * s).unsqueeze(-2)) @ v
    whole = rows == columns and d.bool()

    def run(op, x):
        u, s, v = op(x, whole)
        return s, u @ v, u * u.roll(1, -2)
    return [x], run


@case("linalg_svdvals")
def _(d):
    return [d.float(d.choice([[4, 3], [2, 3, 5]]), -1, 1)], lambda op, x: op(x)


@case(*["linalg_qr"] * 4)
def _(d):
    rows, columns = d.choice([(3, 3), (5, 2), (2, 4), (6, 6)])
    mode = d.choice(["reduced", "complete", "r"])
    x = d.float(d.choice([[], [2], [2, 3]]) + [rows, columns], -1, 1) + \
        2 * torch.eye(rows, columns)
    if mode == "r":  # no gradient in PyTorch, here and in the next ones
        return [x], lambda op, x: op(x.detach(), mode)[1]
    if rows < columns or (mode == "complete" and rows > columns):
        return [x], lambda op, x: op(x.detach(), mode)
    return [x], lambda op, x: op(x, mode)


@case("slogdet", "linalg_slogdet")
def _(d):
    return [matrices(d)], lambda op, x: op(x)


@case("logdet")
def _(d):
    x = matrices(d)
    return [x @ x.mT], lambda op, x: op(x)


@case("trapezoid.x", "trapz.x", "cumulative_trapezoid.x")
def _(d):
    x = d.float(d.choice([[5], [3, 5], [2, 3, 5]]))
    dim = d.dim(x.dim())
    points = d.float([x.shape[dim]] if d.bool() else x.shape)
    return [x, points], lambda op, x, points: op(x, points, dim=dim)


@case("trapezoid.dx", "trapz.dx", "cumulative_trapezoid.dx")
def _(d):
    x = d.float(d.choice([[5], [3, 5], [2, 3, 5]]))
    dim, dx = d.dim(x.dim()), d.choice([1, 0.25])
    return [x], lambda op, x: op(x, dx=dx, dim=dim)


@case("triplet_margin_loss")
def _(d):
    swap, reduction = d.bool(), d.int(0, 2)
    return ([d.float([5, 4]), d.float([5, 4]), d.float([5, 4])],
            lambda op, a, p, n: op(a, p, n, 3.0, 2, 1e-6, swap, reduction))


@case("cosine_embedding_loss")
def _(d):
    return ([d.float([6, 4]), d.float([6, 4]), d.ints([6], 0, 2) * 2 - 1],
            lambda op, a, b, y: op(a, b, y, 0.1, d.int(0, 2)))


@case("multi_margin_loss")
def _(d):
    return ([d.float([6, 4]), d.ints([6], 0, 4)],
            lambda op, x, y: op(x, y, d.int(1, 2), 1.0, None, d.int(0, 2)))


# Convolutions and pooling in 3 dimensions, resizing.
@case(*["convolution_backward"] * 4)
def _(d):
    form = d.choice(["groups", "transposed", "one", "filter"])
    n, stride, padding, dilation = 1 if form == "one" else 2, d.int(1, 3), d.int(0, 1), d.int(1, 2)
    groups, over = 2 if form == "groups" else 1, d.int(0, stride - 1 if form == "transposed" else 0)
    x, w = d.float([2, 4, *[9, 8][:n]]), d.float([4, 4 // groups, *[3] * n])
    wanted = [True, form in ("one", "filter"), form != "transposed"]
    rest = [[stride] * n, [padding] * n, [dilation] * n, form == "transposed", [over] * n, groups]
    shape = torch.convolution(x, w, None, *rest).shape
    return [d.float(list(shape)), x, w], lambda op, y, x, w: [
        g for g, is_wanted in zip(op(y, x, w, [4], *rest, wanted), wanted) if is_wanted]


@case("conv3d", "conv3d")
def _(d):
    groups = d.choice([1, 2])
    stride, padding, dilation = d.int(1, 2), d.int(0, 1), d.int(1, 2)
    return ([d.float([2, 4, 5, 6, 5]), d.float([6, 4 // groups, 2, 3, 2]), d.float([6])],
            lambda op, x, w, b: op(x, w, b, [stride] * 3, [padding] * 3, [dilation] * 3, groups))


# One channel: the places of the filter along the depth are channels.
@case("conv3d")
def _(d):
    stride, dilation = d.int(1, 2), d.int(1, 2)
    return ([d.float([2, 1, 6, 5, 4]), d.float([9, 1, 3, 2, 3]), d.float([9])],
            lambda op, x, w, b: op(x, w, b, [stride, 1, 1], [2, 1, 2], [dilation, 1, 1], 1))


@case("conv3d.padding")
def _(d):
    mode = d.choice(["same", "valid"])
    return ([d.float([1, 2, 4, 5, 3]), d.float([3, 2, 2, 3, 1])],
            lambda op, x, w: op(x, w, None, [1, 1, 1], mode))


@case("conv_transpose3d.input")
def _(d):
    groups, stride, padding = d.choice([1, 2]), d.int(1, 2), d.int(0, 1)
    dilation, strides = d.int(1, 2), [stride, d.int(1, 3), stride]
    extra = [d.int(0, max(s, dilation) - 1) for s in strides]
    return ([d.float([2, 4, 3, 4, 2]), d.float([4, 6 // groups, 2, 3, 2]), d.float([6])],
            lambda op, x, w, b: op(x, w, b, strides, [padding] * 3, extra, groups,
                                   [dilation] * 3))


@case("max_pool3d", "max_pool3d", "max_pool3d")
def _(d):
    stride, padding, ceil = d.choice([[], [1, 2, 2], [3, 2, 1]]), d.choice([0, 1]), d.bool()
    dilation = d.choice([[1, 1, 1], [1, 1, 1], [2, 1, 2]])
    return ([d.few([1, 2, 5, 6, 5])],
            lambda op, x: op(x, [2, 2, 3], stride, [padding] * 3, dilation, ceil))


@case("max_pool3d_with_indices")
def _(d):
    return [d.distinct([2, 4, 4, 4])], lambda op, x: op(x, 2)[0]


@case("avg_pool3d", "avg_pool3d", "avg_pool3d", "avg_pool3d")
def _(d):
    divisor, padding, stride = d.choice([None, None, 5]), d.choice([0, 1]), d.int(1, 3)
    ceil, include = d.bool(), d.bool()
    return ([d.float([1, 2, 5, 6, 5])],
            lambda op, x: op(x, [2, 2, 3], [stride, 2, 2], [padding] * 3, ceil, include,
                             divisor))


@case("adaptive_avg_pool3d", "_adaptive_avg_pool3d", "adaptive_avg_pool3d")
def _(d):
    return [d.float([2, 3, 4, 6, 4])], lambda op, x: op(
        x, d.choice([[1, 1, 1], [2, 3, 1], [3, 6, 4], [4, 4, 3], [3, 4, 7]]))


@case("adaptive_max_pool3d", "adaptive_max_pool3d", "adaptive_max_pool3d")
def _(d):
    return [d.few([1, 2, 4, 6, 4])], lambda op, x: op(
        x, d.choice([[2, 3, 1], [3, 6, 4], [4, 4, 3], [3, 4, 7]]))[0]


@case("max_pool2d", "max_pool2d")
def _(d):
    padding, dilation, ceil = d.int(0, 1), d.choice([[2, 2], [1, 3]]), d.bool()
    return ([d.few([2, 2, 8, 9])],
            lambda op, x: op(x, [2, 3], [2, 2], [padding] * 2, dilation, ceil))


@case("upsample_nearest1d", "upsample_linear1d")
def _(d):
    def call(op, x):
        return op(x, [d.choice([3, 7, 8])], *([d.bool()] if "linear" in str(op) else []))
    return [d.float([2, 3, 4])], call


@case("upsample_nearest1d.vec", "_upsample_nearest_exact1d.vec")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, None, [d.choice([1.5, 2.0, 1.3])])


@case("upsample_nearest2d", "_upsample_nearest_exact2d", "_upsample_nearest_exact2d.vec",
      "upsample_nearest2d.vec")
def _(d):
    size = d.choice([[5, 7], [2, 3], [6, 8]])
    return ([d.float([2, 3, 3, 4])],
            lambda op, x: op(x, size, None) if "vec" in str(op) else op(x, size))


@case("upsample_nearest3d", "upsample_nearest3d.vec", "_upsample_nearest_exact3d",
      "_upsample_nearest_exact3d.vec")
def _(d):
    return ([d.float([1, 2, 2, 3, 4])],
            lambda op, x: op(x, [4, 5, 3], *([None] if "vec" in str(op) else [])))


@case("_upsample_nearest_exact1d")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, [d.choice([3, 7, 8])])


@case("upsample_linear1d.vec")
def _(d):
    return [d.float([2, 3, 4])], lambda op, x: op(x, None, d.bool(), [1.7])


@case("upsample_trilinear3d", "upsample_trilinear3d.vec")
def _(d):
    corners = d.bool()
    return ([d.float([1, 2, 2, 3, 4])],
            lambda op, x: op(x, [4, 5, 3], corners, *([None] if "vec" in str(op) else [])))


@case("upsample_linear1d", "upsample_nearest1d", "_upsample_nearest_exact1d")
def _(d):
    """By phases, a matrix, and rows of long ones."""
    size = d.choice([4, 12, 66])
    out = [d.choice([size * 2, size * 3, size // 2, size * 3 // 2, size + 1, size * 9])]
    corners = d.bool()
    return ([d.float([2, 3, size])],
            lambda op, x: op(x, out, corners) if "linear" in str(op) else op(x, out))


@case("upsample_bilinear2d", "upsample_bicubic2d")
def _(d):
    height, corners = d.choice([5, 66]), d.bool()
    out = [d.choice([height * 2, height + 3]), d.choice([3, 12])]
    return [d.float([2, 2, height, 6])], lambda op, x: op(x, out, corners)


@case("matmul")
def _(d):
    """One matrix times many columns."""
    return ([d.float(d.choice([[3, 4], [4]])), d.float([2, 3, 4, 1])],
            lambda op, x, y: op(x, y))


@case("upsample_bicubic2d", "upsample_bicubic2d.vec")
def _(d):
    size, corners = d.choice([[5, 7], [2, 3]]), d.bool()
    if d.bool():
        return ([d.float([2, 3, 3, 4])],
                lambda op, x: op(x, None, corners, [2.0, 1.5]) if "vec" in str(op)
                else op(x, [6, 6], corners, 2.0, 1.5))
    return ([d.float([2, 3, 3, 4])],
            lambda op, x: op(x, size, corners, None) if "vec" in str(op)
            else op(x, size, corners))


@case("im2col")
def _(d):
    dilation, padding, stride = d.int(1, 2), d.int(0, 1), d.int(1, 2)
    return ([d.float([2, 3, 6, 5])],
            lambda op, x: op(x, [2, 3], [dilation] * 2, [padding] * 2, [stride] * 2))


@case("col2im")
def _(d):
    return ([d.float([2, 18, 12])],
            lambda op, x: op(x, [5, 5], [2, 3], [1, 1], [0, 0], [1, 1]))


@case("grid_sampler", "grid_sampler_2d")
def _(d):
    mode, padding, corners = d.choice([0, 0, 1]), d.choice([0, 1]), d.bool()
    return ([d.float([2, 3, 5, 4]), d.float([2, 3, 4, 2], -1.3, 1.3)],
            lambda op, x, g: op(x, g, mode, padding, corners))


@case("_weight_norm")
def _(d):
    dim = d.choice([0, 1])
    size = [1, 1, 1]
    size[dim] = [4, 3, 2][dim]
    return [d.float([4, 3, 2]), d.float(size, 0.5, 2)], lambda op, v, g: op(v, g, dim)


# At the ends, where derivatives are infinite.
@case("asin", "acos", "atanh")
def _(d):
    return [torch.tensor([1.0, -1.0, 0.5, 0.0])], lambda op, x: op(x)


@case("acosh")
def _(d):
    return [torch.tensor([1.0, 2.0])], lambda op, x: op(x)


# Complex tensors are pairs of real numbers outside of each call.
def to_complex(x):
    return torch.view_as_complex(x)


def to_pairs(result):
    """The results of a call, of which complex ones become pairs."""
    if isinstance(result, (list, tuple)):
        return [to_pairs(item) for item in result]
    return torch.view_as_real(result.resolve_conj()) if result.is_complex() else result


def of_complex(names, call=lambda d, shape: lambda op, z: op(z), low=0, high=4,
               away_from=0.0):
    """Calls with one complex tensor. `call`, of a Draw and a shape, makes the function."""
    def make(d):
        shape = d.shape(low, high)
        x = d.float([*shape, 2])
        x = x + away_from * x.sign()
        function = call(d, shape)
        return [x], lambda op, x: to_pairs(function(op, to_complex(x)))
    for name in names.split():
        CASES.append((name, make))


def with_dim(*rest, low=1):
    return lambda d, shape: lambda op, z, dim=d.dim(len(shape)): op(z, dim, *rest)


of_complex("conj conj_physical _conj resolve_conj resolve_neg _neg_view neg negative positive "
           "exp square clone contiguous alias detach ravel sum mean view_as_real real imag "
           "zeros_like ones_like")
of_complex("abs absolute angle log reciprocal sgn", away_from=0.1)
of_complex("t numpy_T", low=2, high=2)
of_complex("mT mH adjoint tril triu", low=2)
of_complex("cumsum unsqueeze flip", lambda d, shape: lambda op, z, dim=d.dim(len(shape)): op(
    z, [dim] if op is torch.ops.aten.flip.default else dim), low=1)
of_complex("sum.dim_IntList mean.dim", lambda d, shape: (
    lambda op, z, dims=d.dims(len(shape)), keep=d.bool(): op(z, dims, keep)), low=1)
of_complex("permute", lambda d, shape: (
    lambda op, z, p=d.random.sample(range(len(shape)), len(shape)): op(z, p)), low=1)
of_complex("roll", lambda d, shape: (
    lambda op, z, dim=d.dim(len(shape)), by=d.int(-4, 4): op(z, [by], [dim])), low=1)
of_complex("fft_fftshift fft_ifftshift", lambda d, shape: (
    lambda op, z, dims=d.choice([None, d.dims(len(shape))]): op(z, dims)), low=1)
of_complex("pow.Tensor_Scalar", lambda d, shape: (
    lambda op, z, p=d.choice([2, 3, -1, -2]): op(z, p)), away_from=0.1)
of_complex("add.Scalar mul.Scalar sub.Scalar div.Scalar rsub.Scalar", lambda d, shape: (
    lambda op, z, s=d.choice([2.5, 0.5 - 1.5j]): op(z, s)))
of_complex("linalg_vector_norm", lambda d, shape: (
    lambda op, z, p=d.choice([1, 2]), dims=d.choice([None, [0]]): op(z, p, dims)), low=1,
    away_from=0.1)
of_complex("constant_pad_nd", lambda d, shape: (
    lambda op, z, by=[d.int(0, 2) for _ in range(2)]: op(z, by, 1.5)), low=1)
of_complex("select.int slice.Tensor", lambda d, shape: (
    lambda op, z, dim=d.dim(len(shape)): op(z, dim, 0)), low=1)
of_complex("chunk", lambda d, shape: lambda op, z: op(z, 2, 0), low=1)


@case("polar")
def _(d):
    shape = d.shape()
    return ([d.float(shape, 0.1, 2), d.float(shape, -4, 4)],
            lambda op, a, b: to_pairs(op(a, b)))


@case("complex")
def _(d):
    shape = d.shape()
    return [d.float(shape), d.float(d.like(shape))], lambda op, a, b: to_pairs(op(a, b))


@case("view_as_complex")
def _(d):
    return [d.float([*d.shape(), 2])], lambda op, x: to_pairs(op(x) * 1)


@case("real", "conj", "conj_physical", "resolve_conj", "resolve_neg", "_neg_view", "mH", "angle")
def _(d):
    return [d.far(d.shape(2, 2), (0,))], lambda op, x: op(x)


@case("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "rsub.Tensor", "true_divide.Tensor")
def _(d):
    a = d.shape()
    b, kind = d.like(a), d.int(0, 2)
    y = d.float([*b, 2]) if kind != 1 else d.float(b)
    y = y + 0.1 * y.sign()
    x = d.float([*a, 2]) if kind != 2 else d.float(a)

    def call(op, x, y):
        x = to_complex(x) if kind != 2 else x
        y = to_complex(y) if kind != 1 else y
        return to_pairs(op(x, y))
    return [x, y], call


@case("matmul", "mm", "bmm", "mv", "dot", "outer")
def _(d):
    name = d.choice(["both", "left", "right"])
    n, k, m, b = (d.choice([1, 2, 3, 5]) for _ in range(4))

    def call(op, x, y):
        op_name = op._schema.name.split("::")[1]
        shapes = {"matmul": ([b, n, k], [k, m]), "mm": ([n, k], [k, m]),
                  "bmm": ([b, n, k], [b, k, m]), "mv": ([n, k], [k]), "dot": ([k], [k]),
                  "outer": ([n], [m])}[op_name]
        x, y = (to_complex(t.reshape(-1)[:2 * torch.Size(s).numel()].reshape(*s, 2))
                for t, s in zip((x, y), shapes))
        return to_pairs(op(x, y))
    return [d.float([b * n * k * 2]), d.float([b * k * m * 2])], call


@case("linear")
def _(d):
    n, k, m = (d.choice([1, 2, 3]) for _ in range(3))
    bias = d.bool()
    return ([d.float([n, k, 2]), d.float([m, k, 2]), d.float([m, 2])],
            lambda op, x, w, b: to_pairs(op(to_complex(x), to_complex(w),
                                            to_complex(b) if bias else None)))


@case("einsum")
def _(d):
    n, k, m = (d.choice([1, 2, 3]) for _ in range(3))
    return ([d.float([n, k, m, 2]), d.float([k, m]), d.float([m, n, 2])],
            lambda op, x, y, z: to_pairs(op(
                "abc,bc,ca->ab", [to_complex(x), y, to_complex(z)])))


@case("where.self")
def _(d):
    shape = d.shape()
    return ([d.bools(shape), d.float([*shape, 2]), d.float(shape)],
            lambda op, c, x, y: to_pairs(op(c, to_complex(x), y.to(to_complex(x).dtype))))


@case("cat", "stack")
def _(d):
    shape = d.shape(1, 3)
    dim = d.int(0, len(shape) - 1)
    return ([d.float([*shape, 2]), d.float([*shape, 2])],
            lambda op, x, y: to_pairs(op([to_complex(x), to_complex(y)], dim)))


@case("index_put")
def _(d):
    size, add = d.choice([3, 5]), d.bool()
    at = torch.randperm(size, generator=d.torch)[:2]
    return ([d.float([size, 3, 2]), at, d.float([2, 3, 2])],
            lambda op, x, at, y: to_pairs(op(to_complex(x), [at], to_complex(y), add)))


# Fourier transforms: one matrix, two and three of them, and two primes of which one is large.
SIZES = (1, 2, 3, 8, 15, 30, 67)
LONG = (128, 131, 150, 187, 256, 2310, 4096)
NORMS = (None, "backward", "ortho", "forward")


def fourier(names, is_complex, low=1):
    def make(d):
        shape = d.shape(1, 3)
        dim, n = d.dim(len(shape)), d.choice(SIZES)
        shape[dim] = d.choice(SIZES[low:])
        norm, given = d.choice(NORMS), d.choice([None, n])

        def call(op, x):
            z = to_complex(x) if is_complex else x
            # A transform back of one number has no element by default.
            size = n if op._schema.name.endswith(("_irfft", "_hfft")) and z.shape[dim] == 1 \
                else given
            return to_pairs(op(z, size, dim, norm))
        return [d.float([*shape, 2] if is_complex else shape)], call

    def make_long(d):
        n = d.choice(LONG)
        size = n // 2 + 1 if names.split()[0] in ("fft_irfft", "fft_hfft") else n
        norm, given = d.choice(NORMS), d.choice([n, n, n + 3, n - 1])
        x = d.float([2, size, 2] if is_complex else [2, size])
        return [x], lambda op, x: to_pairs(op(to_complex(x) if is_complex else x, given, 1, norm))

    for name in names.split():
        CASES.extend([(name, make), (name, make), (name, make_long)])


fourier("fft_fft fft_ifft", is_complex=True)
fourier("fft_fft fft_ifft fft_rfft fft_ihfft", is_complex=False)
fourier("fft_irfft fft_hfft", is_complex=True)
fourier("fft_irfft fft_hfft", is_complex=False)


def fourier_of_many(names, is_complex):
    def make(d):
        shape = [d.choice((2, 3, 4, 6, 9)) for _ in range(d.int(2, 4))]
        norm = d.choice(NORMS)
        dims = sorted(d.random.sample(range(len(shape)), 2))
        d.random.shuffle(dims)
        sizes = d.choice([None, [d.choice((2, 3, 5, 8)) for _ in dims]])
        dims = d.choice([dims, [dim - len(shape) for dim in dims]])
        everything = d.bool()

        def call(op, x):
            z = to_complex(x) if is_complex else x
            if op._schema.name.endswith("n") and everything:
                return to_pairs(op(z, None, None, norm))
            return to_pairs(op(z, sizes, dims, norm))
        return [d.float([*shape, 2] if is_complex else shape)], call
    for name in names.split():
        CASES.extend([(name, make), (name, make)])


fourier_of_many("fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_irfft2 fft_irfftn", is_complex=True)
fourier_of_many("fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft2 fft_rfftn fft_irfft2 fft_irfftn",
                is_complex=False)


@case("fft_fftfreq", "fft_rfftfreq")
def _(d):
    n, distance = d.choice((1, 2, 5, 8)), d.choice([1.0, 0.25])
    return [d.float([])], lambda op, x: op(n, distance) + x


@case("hann_window", "hamming_window", "blackman_window")
def _(d):
    n = d.choice((1, 2, 5, 8))
    return [d.float([])], lambda op, x: op(n) + x


@case("hann_window.periodic", "hamming_window.periodic", "blackman_window.periodic")
def _(d):
    n, periodic = d.choice((1, 2, 5, 8)), d.bool()
    return [d.float([])], lambda op, x: op(n, periodic) + x


@case("stft", "stft")
def _(d):
    size = d.choice((4, 9, 12))
    hop, length = d.choice((1, 3, 4, 5)), d.choice((size, size - 1))
    batch = [d.choice((1, 3))] if d.bool() else []
    has_window, normalized, half = d.bool(), d.bool(), d.bool()
    is_complex, gives_pairs = d.bool(), d.bool()
    shape = [*batch, size + d.int(0, 20)]

    def call(op, x, window):
        z = to_complex(x) if is_complex else x
        return to_pairs(op(z, size, hop, length, window if has_window else None, normalized,
                           half and not is_complex, not gives_pairs))
    return [d.float([*shape, 2] if is_complex else shape), d.float([length], 0.5, 1)], call


@case("istft", "istft")
def _(d):
    size = d.choice((4, 8, 12))  # torch.export refuses odd ones.
    hop, half, batch = d.choice((1, 2, 3)), d.bool(), [d.choice((1, 3))] if d.bool() else []
    normalized, center = d.bool(), d.bool()
    count = d.int(5, 9)
    reach = hop * (count - 1) + size - (size if center else 0)
    length = d.choice([None, reach - 1])
    has_window = d.bool()
    shape = [*batch, size // 2 + 1 if half else size, count, 2]
    return ([d.float(shape), d.float([size], 0.5, 1)],
            lambda op, x, window: op(to_complex(x), size, hop, None,
                                     window if has_window else None, center, normalized, half,
                                     length, False))
