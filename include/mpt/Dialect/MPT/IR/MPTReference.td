//===- MPTReference.td - What the reference has in addition to ops -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles, kinds of init, and functions of other libraries that have no op of their
// own. tools/utils/op-docs.py makes docs/Ops.md, docs/FromPyTorch.md, the tables of
// OpReference.h and what the dialect's verifier accepts from this file and the ops.
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTREFERENCE_TD
#define MPT_DIALECT_MPT_IR_MPTREFERENCE_TD

include "mpt/Dialect/MPT/IR/MPTOps.td"

//===----------------------------------------------------------------------===//
// Arguments of a step
//===----------------------------------------------------------------------===//

/// A value of `mpt.role`; `order` is the order in documents and errors.
class MPT_StepRole<int order_, string name_, string description_> {
  int order = order_;
  string name = name_;
  string description = description_;
}
def : MPT_StepRole<0, "parameter",
  "A weight. `--mpt-autodiff` makes its gradient, and `--mpt-train-step` its update.">;
def : MPT_StepRole<1, "optimizer_state",
  "State of the optimizer, such as momentum, Adam's moments and the count of steps. "
  "Zeros without `mpt.init`.">;
def : MPT_StepRole<2, "running_stat",
  "State that the forward function updates itself, such as the running mean of "
  "`mpt.batch_norm`. It has no gradient.">;
def : MPT_StepRole<3, "loss_scale",
  "The loss scale and the count of good steps since it last changed.">;
def : MPT_StepRole<4, "rng",
  "The seed and the number of steps tried, from which `mpt.dropout` and "
  "`mpt.random_mask` draw.">;
def : MPT_StepRole<5, "schedule",
  "A number that the host sets or a schedule computes: the learning rate `lr`.">;
def : MPT_StepRole<6, "input", "Data that the network reads, new in each step.">;
def : MPT_StepRole<7, "target",
  "Data that the loss compares with the network's output, new in each step.">;

/// A value of `kind` in `mpt.init`, and the numbers that it needs.
class MPT_InitKind<int order_, string name_, list<string> parameters_,
                   string description_> {
  int order = order_;
  string name = name_;
  list<string> parameters = parameters_;
  string description = description_;
}
def : MPT_InitKind<0, "zeros", [], "All elements are 0.">;
def : MPT_InitKind<1, "ones", [], "All elements are 1.">;
def : MPT_InitKind<2, "constant", ["value"], "All elements are `value`.">;
def : MPT_InitKind<3, "uniform", ["low", "high"], "Uniform between `low` and `high`.">;
def : MPT_InitKind<4, "normal", ["mean", "std"],
  "Normal with mean `mean` and standard deviation `std`.">;
def : MPT_InitKind<5, "trunc_normal", ["mean", "std"],
  "Normal, cut at two standard deviations from the mean.">;
def : MPT_InitKind<6, "kaiming_uniform", ["fan_in"],
  "Uniform in (-b, b) with b = 1 / sqrt(`fan_in`): PyTorch's default for the weights "
  "and biases of linear and convolution layers.">;
def : MPT_InitKind<7, "xavier_uniform", ["fan_in", "fan_out"],
  "Uniform in (-b, b) with b = sqrt(6 / (`fan_in` + `fan_out`)).">;

//===----------------------------------------------------------------------===//
// Attributes of other libraries
//===----------------------------------------------------------------------===//

/// What other libraries call an attribute of the ops, if letters do not tell. The error
/// for an unknown attribute suggests it where the op has it.
class MPT_OtherAttribute<list<string> names_, string attribute_> {
  list<string> names = names_;
  string attribute = attribute_;
}
def : MPT_OtherAttribute<["transpose_a", "transa", "adjoint_a"], "transpose_lhs">;
def : MPT_OtherAttribute<["transpose_b", "transb", "adjoint_b"], "transpose_rhs">;
def : MPT_OtherAttribute<["dim", "dims", "dimensions", "axis"], "axes">;
def : MPT_OtherAttribute<["dim", "dimension"], "axis">;
def : MPT_OtherAttribute<["perm", "dims", "axes"], "permutation">;
def : MPT_OtherAttribute<["kernel_size", "window_shape"], "window">;
def : MPT_OtherAttribute<["lhs_dilation"], "interior">;
def : MPT_OtherAttribute<["rhs_dilation"], "dilations">;
def : MPT_OtherAttribute<["feature_group_count"], "groups">;
def : MPT_OtherAttribute<["p"], "rate">;

//===----------------------------------------------------------------------===//
// Functions without an op of their own
//===----------------------------------------------------------------------===//

/// How to write a function that has no op: `formula` is made of mpt ops without
/// `mpt.`, numbers (an `mpt.constant`, broadcast) and names of tensors. `note` says
/// what the formula cannot. `names` as in OtherName.
class MPT_Recipe<list<string> names_, string formula_, string note_ = ""> {
  list<string> names = names_;
  string formula = formula_;
  string note = note_;
}

// Activations.
def : MPT_Recipe<["F.relu6", "nn.ReLU6"], "minimum(relu(x), 6)">;
def : MPT_Recipe<["F.leaky_relu", "nn.LeakyReLU"], "maximum(x, mul(x, slope))",
  "for a slope of at most 1">;
def : MPT_Recipe<["F.prelu", "nn.PReLU"], "where(compare(x, 0, gt), x, mul(x, weight))">;
def : MPT_Recipe<["F.elu", "nn.ELU"],
  "where(compare(x, 0, gt), x, mul(alpha, sub(exp(minimum(x, 0)), 1)))">;
def : MPT_Recipe<["F.selu", "nn.SELU"],
  "mul(1.0507010, where(compare(x, 0, gt), x, mul(1.6732632, sub(exp(minimum(x, 0)), 1))))">;
def : MPT_Recipe<["F.logsigmoid", "nn.LogSigmoid", "log_sigmoid"], "neg(softplus(neg(x)))">;
def : MPT_Recipe<["F.mish", "nn.Mish"], "mul(x, tanh(softplus(x)))">;
def : MPT_Recipe<["F.hardtanh", "nn.Hardtanh", "torch.clamp", "torch.clip"],
  "minimum(maximum(x, low), high)">;
def : MPT_Recipe<["F.hardsigmoid", "nn.Hardsigmoid"],
  "div(minimum(maximum(add(x, 3), 0), 6), 6)">;
def : MPT_Recipe<["F.hardswish", "nn.Hardswish"],
  "mul(x, div(minimum(maximum(add(x, 3), 0), 6), 6))">;
def : MPT_Recipe<["F.softsign", "nn.Softsign"], "div(x, add(1, abs(x)))">;
def : MPT_Recipe<["F.tanhshrink", "nn.Tanhshrink"], "sub(x, tanh(x))">;
def : MPT_Recipe<["F.glu", "nn.GLU"], "mul(slice(x), sigmoid(slice(x)))",
  "with the first and the second half of x">;
def : MPT_Recipe<["F.softmin", "nn.Softmin"], "softmax(neg(x))">;

// Arithmetic.
def : MPT_Recipe<["torch.square"], "mul(x, x)">;
def : MPT_Recipe<["torch.log2"], "mul(log(x), 1.4426950)">;
def : MPT_Recipe<["torch.log10"], "mul(log(x), 0.4342945)">;
def : MPT_Recipe<["torch.exp2"], "exp(mul(x, 0.6931472))">;
def : MPT_Recipe<["torch.expm1"], "sub(exp(x), 1)", "which is less exact for small x">;
def : MPT_Recipe<["torch.ceil"], "neg(floor(neg(x)))">;
def : MPT_Recipe<["torch.trunc"], "mul(sign(x), floor(abs(x)))">;
def : MPT_Recipe<["torch.floor_divide"], "floor(div(x, y))">;
def : MPT_Recipe<["torch.remainder"], "sub(x, mul(y, floor(div(x, y))))">;
def : MPT_Recipe<["torch.tan"], "div(sin(x), cos(x))">;
def : MPT_Recipe<["torch.erfc"], "sub(1, erf(x))", "which is less exact for large x">;
def : MPT_Recipe<["torch.lerp"], "add(x, mul(weight, sub(y, x)))">;
def : MPT_Recipe<["torch.addcmul"], "add(x, mul(value, mul(y, z)))">;
def : MPT_Recipe<["torch.addcdiv"], "add(x, mul(value, div(y, z)))">;
def : MPT_Recipe<["torch.isnan"], "compare(x, x, ne)">;
def : MPT_Recipe<["torch.isinf"], "compare(abs(x), inf, eq)",
  "with inf = `dense<0x7F800000> : tensor<f32>`">;

// Reductions.
def : MPT_Recipe<["torch.var"], "div(reduce(mul(d, d), sum), count)",
  "with d = sub(x, reduce(x, mean, keep_dims)) and count = the number of elements less "
  "`correction` (1 by default)">;
def : MPT_Recipe<["torch.std"], "sqrt(div(reduce(mul(d, d), sum), count))",
  "with d = sub(x, reduce(x, mean, keep_dims)) and count = the number of elements less "
  "`correction` (1 by default)">;
def : MPT_Recipe<["torch.norm", "torch.linalg.norm", "torch.linalg.vector_norm"],
  "sqrt(reduce(mul(x, x), sum))">;
def : MPT_Recipe<["F.normalize"],
  "div(x, maximum(sqrt(reduce(mul(x, x), sum, keep_dims)), 1e-12))">;
def : MPT_Recipe<["torch.logsumexp"],
  "add(m, log(reduce(exp(sub(x, m)), sum, keep_dims)))",
  "with m = reduce(x, max, keep_dims)">;
def : MPT_Recipe<["torch.any"], "compare(reduce(cast(x), max), 0, ne)",
  "with a cast of i1 to i8 or wider">;
def : MPT_Recipe<["torch.all"], "compare(reduce(cast(x), min), 0, ne)",
  "with a cast of i1 to i8 or wider">;
def : MPT_Recipe<["torch.argmin"], "argmax(neg(x))", "along the last dimension">;
def : MPT_Recipe<["torch.cumsum"], "matmul(x, cast(compare(iota, iota, le)))",
  "along the last dimension, with the iotas [C, C] along axes 0 and 1">;
def : MPT_Recipe<["F.cosine_similarity", "nn.CosineSimilarity"],
  "div(reduce(mul(x, y), sum), mul(sqrt(reduce(mul(x, x), sum)), sqrt(reduce(mul(y, y), sum))))">;
def : MPT_Recipe<["F.group_norm", "nn.GroupNorm", "F.instance_norm", "nn.InstanceNorm2d"],
  "add(mul(mul(sub(x, m), rsqrt(add(reduce(mul(d, d), mean, keep_dims), eps))), gamma), beta)",
  "with x reshaped to [N, H, W, G, C / G], m = reduce(x, mean, keep_dims) and "
  "d = sub(x, m) over the axes of a group">;

// Matmuls.
def : MPT_Recipe<["torch.outer", "torch.ger"], "mul(reshape(x), reshape(y))",
  "with x as [M, 1] and y as [1, N]">;
def : MPT_Recipe<["torch.baddbmm"], "add(matmul(x, y), z)">;
def : MPT_Recipe<["F.bilinear", "nn.Bilinear"],
  "reduce(mul(matmul(x, weight), reshape(y)), sum)",
  "with the weight as [in1, out in2], then [.., out, in2] by [.., 1, in2]">;
def : MPT_Recipe<["nn.RNNCell"], "tanh(add(linear(x, weight_ih, bias), matmul(h, weight_hh)))">;
def : MPT_Recipe<["nn.GRUCell", "nn.GRU", "gru"],
  "add(mul(sub(1, z), n), mul(z, h))",
  "with the gates z and r = sigmoid(add(linear(x), linear(h))) and "
  "n = tanh(add(linear(x), mul(r, linear(h))))">;

// Losses. Each is a mean; PyTorch's `reduction='sum'` is a sum.
def : MPT_Recipe<["F.l1_loss", "nn.L1Loss", "mean_absolute_error"],
  "reduce(abs(sub(x, y)), mean)">;
def : MPT_Recipe<["F.smooth_l1_loss", "nn.SmoothL1Loss", "F.huber_loss", "nn.HuberLoss"],
  "reduce(where(compare(d, 1, lt), mul(0.5, mul(d, d)), sub(d, 0.5)), mean)",
  "with d = abs(sub(x, y)), for `beta` and `delta` 1">;
def : MPT_Recipe<["F.binary_cross_entropy_with_logits", "nn.BCEWithLogitsLoss",
                  "sigmoid_cross_entropy"],
  "reduce(sub(softplus(x), mul(x, y)), mean)">;
def : MPT_Recipe<["F.binary_cross_entropy", "nn.BCELoss"],
  "neg(reduce(add(mul(y, log(x)), mul(sub(1, y), log(sub(1, x)))), mean))",
  "which overflows for x near 0 and 1: prefer the form with logits">;
def : MPT_Recipe<["F.kl_div", "nn.KLDivLoss"], "reduce(mul(y, sub(log(y), x)), mean)",
  "where x are logarithms of probabilities">;
def : MPT_Recipe<["hinge_loss"], "reduce(relu(sub(1, mul(x, y))), mean)",
  "with labels y of 1 and -1">;

// Shapes and indices.
def : MPT_Recipe<["F.one_hot"], "cast(compare(reshape(labels), iota, eq))",
  "with the labels as [.., 1] and an iota [V]">;
def : MPT_Recipe<["torch.tril", "torch.triu"], "where(compare(iota, iota, ge), x, 0)",
  "with the iotas [M, N] along axes 0 and 1; `le` for triu">;
def : MPT_Recipe<["torch.eye"], "cast(compare(iota, iota, eq))",
  "with the iotas [N, N] along axes 0 and 1">;
def : MPT_Recipe<["torch.roll"], "concat(slice(x), slice(x))",
  "with the two parts in the other order">;
def : MPT_Recipe<["F.interpolate", "nn.Upsample"], "reshape(broadcast(reshape(x)))",
  "for `mode='nearest'`: [N, H, 1, W, 1, C] to [N, H, 2, W, 2, C] to [N, 2 H, 2 W, C]">;
def : MPT_Recipe<["F.pixel_shuffle", "nn.PixelShuffle", "F.pixel_unshuffle",
                  "nn.PixelUnshuffle"],
  "reshape(transpose(reshape(x)))">;

// Names of ops outside mpt.
def : MPT_Recipe<["return", "func", "module"], "",
  "MLIR's own `func.func`, `return` or `module`, without `mpt.`">;

#endif // MPT_DIALECT_MPT_IR_MPTREFERENCE_TD
