//===- MPTOpsPointwise.td - Elementwise ops -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTOPSPOINTWISE_TD
#define MPT_DIALECT_MPT_IR_MPTOPSPOINTWISE_TD

include "mpt/Dialect/MPT/IR/MPTBase.td"

//===----------------------------------------------------------------------===//
// Result types
//===----------------------------------------------------------------------===//

/// The first operand's type; the second operand has its shape.
def MPT_LikeGradient : MPT_Types<[{
  return inferLikeGradient(location, adaptor.getOperands()[0],
                           adaptor.getOperands()[1], types);
}]>;
/// The broadcast shape of all operands, with elements of i1.
def MPT_BoolBroadcast : MPT_Types<[{
  return inferBool(location, adaptor.getOperands(), context, types);
}]>;
/// The broadcast shape of `lhs` and `rhs`, with their common element type.
def MPT_Arithmetic : MPT_Types<[{
  return inferBinary(location, adaptor.getLhs(), adaptor.getRhs(), types);
}]>;

/// As MPT_Arithmetic, of integers, i1 among them.
def MPT_Bitwise : MPT_Types<[{
  return inferBinary(location, adaptor.getLhs(), adaptor.getRhs(), types,
                     /*allowsBool=*/true);
}]>;

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

let opDocGroup = MPT_ElementwiseDocs in {

class MPT_UnaryOp<string mnemonic, string f16Class, string bf16Class,
                  list<Trait> traits = []>
    : MPT_InferredOp<mnemonic, f16Class, bf16Class,
                     !listconcat([MPT_Elementwise, MPT_Differentiable], traits)> {
  let arguments = (ins
    Arg<MPT_FloatTensor, "any shape">:$x);
  let results = (outs
    Res<MPT_FloatTensor, "x's shape">:$y);
  let inferTypes = MPT_LikeFirst.body;
}

def MPT_NegOp : MPT_UnaryOp<"neg", "Clear", "Clear"> {
  let summary = "negation, elementwise";
  let otherNames = [
    OtherName<"torch.neg">, OtherName<"torch.negative">, OtherName<"negate">];
  let description = [{
    y = -x, computed in f32 (f64 for f64) and rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
  let scalar = [{ return b.neg(x); }];
  let gradients = ["b.neg(dy)"];
}

def MPT_AbsOp : MPT_UnaryOp<"abs", "Clear", "Clear"> {
  let summary = "absolute value, elementwise";
  let otherNames = [OtherName<"torch.abs">, OtherName<"torch.absolute">];
  let description = [{
    y = |x|, computed in f32 (f64 for f64) and rounded once to the result's
    type.

    Example:

    ```mlir
    %y = mpt.abs %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.abs(x); }];
  let gradients = ["b.mul(dy, b.make<SignOp>(getX()))"];
}

def MPT_ExpOp : MPT_UnaryOp<"exp", "Deny", "Deny"> {
  let summary = "exponential, elementwise";
  let otherNames = [OtherName<"torch.exp">, OtherName<"exponential">];
  let description = [{
    y = e^x, computed in f32 (f64 for f64) and rounded once to the result's
    type.

    Example:

    ```mlir
    %y = mpt.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.exp(x); }];
  let gradients = ["b.mul(dy, getY())"];
}

def MPT_LogOp : MPT_UnaryOp<"log", "Infer", "Infer"> {
  let summary = "natural logarithm, elementwise";
  let otherNames = [OtherName<"torch.log">, OtherName<"ln">];
  let description = [{
    y = ln x, computed in f32 (f64 for f64) and rounded once to the result's
    type. Zero gives -inf, and a negative x NaN.

    Example:

    ```mlir
    %y = mpt.log %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.log(x); }];
  let gradients = ["b.make<DivOp>(dy, getX())"];
}

def MPT_Log1pOp : MPT_UnaryOp<"log1p", "Infer", "Infer"> {
  let summary = "natural logarithm of 1 + x, elementwise";
  let otherNames = [OtherName<"torch.log1p">];
  let description = [{
    y = ln(1 + x), computed in f32 (f64 for f64) and rounded once to the
    result's type. Near x = 0 the relative error stays that of `mpt.log`, where
    the sum 1 + x would lose digits of x. x = -1 gives -inf, and x below -1 NaN.

    Example:

    ```mlir
    %y = mpt.log1p %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.log1p(x); }];
  let gradients = ["b.make<DivOp>(dy, b.make<AddOp>(getX(), b.scalar(getX(), 1.0)))"];
}

def MPT_SqrtOp : MPT_UnaryOp<"sqrt", "Infer", "Infer"> {
  let summary = "square root, elementwise";
  let otherNames = [OtherName<"torch.sqrt">];
  let description = [{
    y = sqrt(x), computed in f32 (f64 for f64) and rounded once to the result's
    type. A negative x gives NaN.

    Example:

    ```mlir
    %y = mpt.sqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.sqrt(x); }];
  let gradients = ["b.make<DivOp>(b.mul(dy, 0.5), getY())"];
}

def MPT_RsqrtOp : MPT_UnaryOp<"rsqrt", "Infer", "Infer"> {
  let summary = "reciprocal of the square root, elementwise";
  let otherNames = [OtherName<"torch.rsqrt">];
  let description = [{
    y = 1 / sqrt(x), computed in f32 (f64 for f64) and rounded once to the
    result's type.

    Example:

    ```mlir
    %y = mpt.rsqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.div(b.number(1.0), b.sqrt(x)); }];
  let gradients = [
    "b.mul(b.mul(b.mul(dy, getY()), b.mul(getY(), getY())), -0.5)"];
}

def MPT_ReciprocalOp : MPT_UnaryOp<"reciprocal", "Infer", "Infer"> {
  let summary = "reciprocal, elementwise";
  let otherNames = [OtherName<"torch.reciprocal">, OtherName<"inverse">];
  let description = [{
    y = 1 / x, computed in f32 (f64 for f64) and rounded once to the result's
    type. Zero gives an infinity of its sign.

    Example:

    ```mlir
    %y = mpt.reciprocal %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.div(b.number(1.0), x); }];
  let gradients = ["b.neg(b.mul(dy, b.mul(getY(), getY())))"];
}

def MPT_TanhOp : MPT_UnaryOp<"tanh", "Infer", "Infer"> {
  let summary = "hyperbolic tangent, elementwise";
  let otherNames = [OtherName<"torch.tanh">, OtherName<"F.tanh">, OtherName<"nn.Tanh">];
  let description = [{
    y = tanh(x), computed in f32 (f64 for f64) and rounded once to the result's
    type.

    Example:

    ```mlir
    %y = mpt.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.tanh(x); }];
  let gradients = ["b.make<TanhGradOp>(dy, getY())"];
}

def MPT_SigmoidOp : MPT_UnaryOp<"sigmoid", "Infer", "Infer"> {
  let summary = "logistic sigmoid, elementwise";
  let otherNames = [
    OtherName<"torch.sigmoid">, OtherName<"F.sigmoid">, OtherName<"nn.Sigmoid">,
    OtherName<"logistic">, OtherName<"expit">];
  let description = [{
    y = 1 / (1 + e^-x), computed in f32 (f64 for f64) and rounded once to the
    result's type.

    Example:

    ```mlir
    %y = mpt.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.sigmoid(x); }];
  let gradients = ["b.make<SigmoidGradOp>(dy, getY())"];
}

def MPT_ErfOp : MPT_UnaryOp<"erf", "Infer", "Infer"> {
  let summary = "error function, elementwise";
  let otherNames = [OtherName<"torch.erf">];
  let description = [{
    y = erf(x), computed in f32 (f64 for f64) and rounded once to the result's
    type.

    Example:

    ```mlir
    %y = mpt.erf %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.erf(x); }];
  // erf'(x) = 2 / sqrt(pi) e^(-x^2)
  let gradient = [{
    Value slope = b.make<ExpOp>(b.neg(b.mul(getX(), getX())));
    operandGrads[0] = b.mul(b.mul(dy, slope), 1.1283791670955126);
    return success();
  }];
}

def MPT_SinOp : MPT_UnaryOp<"sin", "Deny", "Deny"> {
  let summary = "sine, elementwise";
  let otherNames = [OtherName<"torch.sin">, OtherName<"sine">];
  let description = [{
    y = sin(x) for x in radians, computed in f32 (f64 for f64) and rounded once
    to the result's type.

    Example:

    ```mlir
    %y = mpt.sin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.sin(x); }];
  let gradients = ["b.mul(dy, b.make<CosOp>(getX()))"];
}

def MPT_CosOp : MPT_UnaryOp<"cos", "Deny", "Deny"> {
  let summary = "cosine, elementwise";
  let otherNames = [OtherName<"torch.cos">, OtherName<"cosine">];
  let description = [{
    y = cos(x) for x in radians, computed in f32 (f64 for f64) and rounded once
    to the result's type.

    Example:

    ```mlir
    %y = mpt.cos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.cos(x); }];
  let gradients = ["b.neg(b.mul(dy, b.make<SinOp>(getX())))"];
}

def MPT_ReluOp : MPT_UnaryOp<"relu", "Clear", "Clear"> {
  let summary = "rectified linear unit, elementwise";
  let otherNames = [OtherName<"torch.relu">, OtherName<"F.relu">, OtherName<"nn.ReLU">];
  let description = [{
    y = max(x, 0), computed in f32 (f64 for f64) and rounded once to the
    result's type. NaN stays NaN.

    Example:

    ```mlir
    %y = mpt.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.max(x, b.number(0.0)); }];
  let gradients = ["b.make<ReluGradOp>(dy, getY())"];
}

def MPT_SiluOp : MPT_UnaryOp<"silu", "Infer", "Infer"> {
  let summary = "sigmoid linear unit (swish), elementwise";
  let otherNames = [OtherName<"F.silu">, OtherName<"nn.SiLU">, OtherName<"swish">];
  let description = [{
    y = x / (1 + e^-x), computed in f32 (f64 for f64) and rounded once to the
    result's type.

    Example:

    ```mlir
    %y = mpt.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.mul(x, b.sigmoid(x)); }];
  let gradients = ["b.make<SiluGradOp>(dy, getX())"];
}

def MPT_SoftplusOp : MPT_UnaryOp<"softplus", "Infer", "Infer"> {
  let summary = "smooth rectified linear unit, elementwise";
  let otherNames = [
    OtherName<"F.softplus", "for `beta` = 1">,
    OtherName<"nn.Softplus", "for `beta` = 1">];
  let description = [{
    y = ln(1 + e^x), computed as max(x, 0) + ln(1 + e^-|x|), which does not
    overflow, in f32 (f64 for f64) and rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.softplus %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{
    return b.add(b.max(x, b.number(0.0)), b.log1p(b.exp(b.neg(b.abs(x)))));
  }];
  let gradients = ["b.mul(dy, b.make<SigmoidOp>(getX()))"];
}

def MPT_SignOp : MPT_UnaryOp<"sign", "Clear", "Clear"> {
  let summary = "sign, elementwise";
  let otherNames = [OtherName<"torch.sign">, OtherName<"torch.sgn">];
  let description = [{
    y is -1, 0 or 1 for a negative, zero or positive x. NaN stays NaN.

    Example:

    ```mlir
    %y = mpt.sign %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{
    Value negative = b.select(b.less(x, b.number(0.0)), b.number(-1.0), x);
    return b.select(b.greater(x, b.number(0.0)), b.number(1.0), negative);
  }];
  let gradients = [""];
}

def MPT_FloorOp : MPT_UnaryOp<"floor", "Clear", "Clear"> {
  let summary = "largest integer that is not above x, elementwise";
  let otherNames = [OtherName<"torch.floor">];
  let description = [{
    y = floor(x), a float like x.

    Example:

    ```mlir
    %y = mpt.floor %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.floor(x); }];
  let gradients = [""];
}

def MPT_GeluOp : MPT_InferredOp<"gelu", "Infer", "Infer", [MPT_Elementwise, MPT_Differentiable]> {
  let summary = "Gaussian error linear unit, elementwise";
  let otherNames = [
    OtherName<"F.gelu">, OtherName<"nn.GELU">,
    OtherName<"gelu_tanh", "with `approximate = #mpt.gelu<tanh>`">,
    OtherName<"gelu_new", "with `approximate = #mpt.gelu<tanh>`">];
  let description = [{
    Without `approximate`, y = x Phi(x), where Phi is the normal distribution
    function (computed with erf). With `tanh`, y = 0.5 x (1 + tanh(sqrt(2/pi)
    (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016). Computed in f32 (f64 for
    f64) and rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.gelu %x {approximate = #mpt.gelu<tanh>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "any shape">:$x,
    Arg<DefaultValuedAttr<MPT_GeluKind, "::mpt::GeluApproximation::Erf">,
        "the formula; PyTorch's `approximate='none'` or `'tanh'`">:$approximate);
  let results = (outs
    Res<MPT_FloatTensor, "x's shape">:$y);
  let inferTypes = MPT_LikeFirst.body;
  let scalar = [{ return b.gelu(x, getApproximate()); }];
  let gradients = ["b.make<GeluGradOp>(dy, getX(), getApproximate())"];
}

def MPT_IsFiniteOp : MPT_InferredOp<"is_finite", "Clear", "Clear", [MPT_Elementwise]> {
  let summary = "test for finite numbers, elementwise";
  let otherNames = [OtherName<"torch.isfinite">];
  let description = [{
    y is true where x is neither an infinity nor NaN.

    Example:

    ```mlir
    %y = mpt.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "any shape">:$x);
  let results = (outs
    Res<MPT_BoolTensor, "x's shape">:$y);
  let inferTypes = MPT_BoolBroadcast.body;
  let scalar = [{ return b.isFinite(x); }];
}

def MPT_NotOp : MPT_InferredOp<"not", "Clear", "Clear", [MPT_Elementwise]> {
  let summary = "not of each bit, elementwise; logical negation for i1";
  let otherNames = [OtherName<"torch.logical_not">, OtherName<"torch.bitwise_not">];
  let description = [{
    Each bit of y is 1 where the bit of x is 0. For i1, y is true where x is
    false; for wider integers, y = -1 - x.

    Example:

    ```mlir
    %y = mpt.not %x : (tensor<4xi1>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins
    Arg<MPT_IntTensor, "any shape">:$x);
  let results = (outs
    Res<MPT_IntTensor, "x's shape">:$y);
  let hasFolder = 1;
  let inferTypes = MPT_LikeFirst.body;
  let scalar = [{ return b.bitXor(x, b.integer(x.getType(), -1)); }];
}

class MPT_CountBitsOp<string mnemonic, string compute>
    : MPT_InferredOp<mnemonic, "Clear", "Clear", [MPT_Elementwise]> {
  let arguments = (ins
    Arg<MPT_WideIntTensor, "any shape">:$x);
  let results = (outs
    Res<MPT_WideIntTensor, "x's shape">:$y);
  let inferTypes = MPT_LikeFirst.body;
  let scalar = "return b." # compute # "(x);";
}

def MPT_PopulationCountOp : MPT_CountBitsOp<"population_count", "populationCount"> {
  let summary = "number of bits that are 1, elementwise";
  let otherNames = [OtherName<"popcnt">, OtherName<"popcount">, OtherName<"bit_count">];
  let description = [{
    y is how many bits of x are 1, in two's complement.

    Example:

    ```mlir
    %y = mpt.population_count %x : (tensor<4xi32>) -> tensor<4xi32>
    ```
  }];
}

def MPT_CountLeadingZerosOp
    : MPT_CountBitsOp<"count_leading_zeros", "countLeadingZeros"> {
  let summary = "number of zeros above the highest bit that is 1, elementwise";
  let otherNames = [OtherName<"clz">, OtherName<"ctlz">];
  let description = [{
    y is the width of x's type, less the position of the highest bit that is 1
    (the lowest bit has position 1). For x = 0 it is the width.

    Example:

    ```mlir
    %y = mpt.count_leading_zeros %x : (tensor<4xi32>) -> tensor<4xi32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Derivatives of activations
//===----------------------------------------------------------------------===//

class MPT_ActivationGradOp<string mnemonic, string f16Class, string bf16Class>
    : MPT_InferredOp<mnemonic, f16Class, bf16Class, [MPT_Elementwise]> {
  let results = (outs
    Res<MPT_FloatTensor, "dy's shape">:$dx);
  let inferTypes = MPT_LikeGradient.body;
}

def MPT_ReluGradOp : MPT_ActivationGradOp<"relu_grad", "Clear", "Clear"> {
  let summary = "gradient of `mpt.relu`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dx = dy where y > 0, else 0. `y` is the result of `mpt.relu`; its operand,
    which has the same sign, serves too.

    Example:

    ```mlir
    %dx = mpt.relu_grad %dy, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "gradient of the result">:$dy,
    Arg<MPT_FloatTensor, "dy's shape; the result of `mpt.relu`">:$y);
  let scalar = [{ return b.select(b.greater(y, b.number(0.0)), dy, b.number(0.0)); }];
}

def MPT_TanhGradOp : MPT_ActivationGradOp<"tanh_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.tanh`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dx = dy (1 - y^2), computed in f32 (f64 for f64) and rounded once to the
    result's type.

    Example:

    ```mlir
    %dx = mpt.tanh_grad %dy, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "gradient of the result">:$dy,
    Arg<MPT_FloatTensor, "dy's shape; the result of `mpt.tanh`">:$y);
  let scalar = [{ return b.mul(dy, b.sub(b.number(1.0), b.mul(y, y))); }];
}

def MPT_SigmoidGradOp : MPT_ActivationGradOp<"sigmoid_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.sigmoid`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dx = dy y (1 - y), computed in f32 (f64 for f64) and rounded once to the
    result's type.

    Example:

    ```mlir
    %dx = mpt.sigmoid_grad %dy, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "gradient of the result">:$dy,
    Arg<MPT_FloatTensor, "dy's shape; the result of `mpt.sigmoid`">:$y);
  let scalar = [{ return b.mul(b.mul(dy, y), b.sub(b.number(1.0), y)); }];
}

def MPT_SiluGradOp : MPT_ActivationGradOp<"silu_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.silu`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dx = dy s (1 + x (1 - s)) with s = sigmoid(x), computed in f32 (f64 for f64)
    and rounded once to the result's type.

    Example:

    ```mlir
    %dx = mpt.silu_grad %dy, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "gradient of the result">:$dy,
    Arg<MPT_FloatTensor, "dy's shape; the operand of `mpt.silu`">:$x);
  let scalar = [{
    Value s = b.sigmoid(x);
    return b.mul(b.mul(dy, s), b.add(b.number(1.0), b.mul(x, b.sub(b.number(1.0), s))));
  }];
}

def MPT_GeluGradOp : MPT_ActivationGradOp<"gelu_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.gelu`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dx = dy gelu'(x), computed in f32 (f64 for f64) and rounded once to the
    result's type.

    Example:

    ```mlir
    %dx = mpt.gelu_grad %dy, %x {approximate = #mpt.gelu<tanh>}
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "gradient of the result">:$dy,
    Arg<MPT_FloatTensor, "dy's shape; the operand of `mpt.gelu`">:$x,
    Arg<DefaultValuedAttr<MPT_GeluKind, "::mpt::GeluApproximation::Erf">,
        "the formula, as in `mpt.gelu`">:$approximate);
  let scalar = [{ return b.geluGrad(dy, x, getApproximate()); }];
}

//===----------------------------------------------------------------------===//
// Binary, with NumPy broadcasting
//===----------------------------------------------------------------------===//

class MPT_BinaryOp<string mnemonic, string f16Class, string bf16Class,
                   list<Trait> traits = []>
    : MPT_InferredOp<mnemonic, f16Class, bf16Class,
                     !listconcat([MPT_Elementwise, MPT_Differentiable], traits)> {
  let arguments = (ins
    Arg<MPT_Tensor, "any shape">:$lhs,
    Arg<MPT_Tensor, "broadcasts with lhs">:$rhs);
  let results = (outs
    Res<MPT_Tensor, "the broadcast shape">:$result);
  let inferTypes = MPT_Arithmetic.body;
}

def MPT_AddOp : MPT_BinaryOp<"add", "Infer", "Infer", [Commutative]> {
  let summary = "sum of two tensors, elementwise with broadcasting";
  let otherNames = [
    OtherName<"torch.add">,
    OtherName<"bias_add", "with a bias that is aligned at the last dimension">,
    OtherName<"plus">];
  let description = [{
    result = lhs + rhs. Shapes broadcast as in NumPy: they are aligned at the
    last dimension, and sizes are equal or one of them is 1. Both operands are
    floats, or both have one integer type other than i1. Floats are computed in
    f32 (f64 if an operand is f64) and rounded once to the result's type;
    integers wrap around.

    Example:

    ```mlir
    %y = mpt.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
  let scalar = [{ return b.add(lhs, rhs); }];
  let gradients = ["dy", "dy"];
}

def MPT_SubOp : MPT_BinaryOp<"sub", "Infer", "Infer", []> {
  let summary = "difference of two tensors, elementwise with broadcasting";
  let otherNames = [
    OtherName<"torch.sub">, OtherName<"torch.subtract">, OtherName<"minus">];
  let description = [{
    result = lhs - rhs. Shapes broadcast as in NumPy: they are aligned at the
    last dimension, and sizes are equal or one of them is 1. Both operands are
    floats, or both have one integer type other than i1. Floats are computed in
    f32 (f64 if an operand is f64) and rounded once to the result's type;
    integers wrap around.

    Example:

    ```mlir
    %y = mpt.sub %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
  let scalar = [{ return b.sub(lhs, rhs); }];
  let gradients = ["dy", "b.neg(dy)"];
}

def MPT_MulOp : MPT_BinaryOp<"mul", "Infer", "Infer", [Commutative]> {
  let summary = "product of two tensors, elementwise with broadcasting";
  let otherNames = [
    OtherName<"torch.mul">, OtherName<"torch.multiply">, OtherName<"times">];
  let description = [{
    result = lhs * rhs. Shapes broadcast as in NumPy: they are aligned at the
    last dimension, and sizes are equal or one of them is 1. Both operands are
    floats, or both have one integer type other than i1. Floats are computed in
    f32 (f64 if an operand is f64) and rounded once to the result's type;
    integers wrap around.

    Example:

    ```mlir
    %y = mpt.mul %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
  let scalar = [{ return b.mul(lhs, rhs); }];
  let gradients = ["b.mul(dy, getRhs())", "b.mul(dy, getLhs())"];
}

def MPT_DivOp : MPT_BinaryOp<"div", "Infer", "Infer", []> {
  let summary = "quotient of two tensors, elementwise with broadcasting";
  let otherNames = [
    OtherName<"torch.div">, OtherName<"torch.divide">, OtherName<"torch.true_divide">];
  let description = [{
    result = lhs / rhs. Integers are truncated towards zero; division by the
    integer 0 gives 0. Shapes broadcast as in NumPy: they are aligned at the
    last dimension, and sizes are equal or one of them is 1. Both operands are
    floats, or both have one integer type other than i1. Floats are computed in
    f32 (f64 if an operand is f64) and rounded once to the result's type;
    integers wrap around.

    Example:

    ```mlir
    %y = mpt.div %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
  let scalar = [{ return b.div(lhs, rhs); }];
  let gradients = ["b.make<DivOp>(dy, getRhs())",
                   "b.neg(b.make<DivOp>(b.mul(dy, getResult()), getRhs()))"];
}

def MPT_MaximumOp : MPT_BinaryOp<"maximum", "Clear", "Clear", [Commutative]> {
  let summary = "larger of two elements, with broadcasting";
  let otherNames = [
    OtherName<"torch.maximum">,
    OtherName<"torch.max",
             "for two tensors; of one tensor it is `mpt.reduce` with "
             "`kind = #mpt.reduce_kind<max>`">];
  let description = [{
    The result is NaN if either element is. Shapes broadcast as in NumPy: they
    are aligned at the last dimension, and sizes are equal or one of them is 1.
    Both operands are floats, or both have one integer type other than i1.
    Floats are computed in f32 (f64 if an operand is f64) and rounded once to
    the result's type; integers wrap around.

    Example:

    ```mlir
    %y = mpt.maximum %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.max(lhs, rhs); }];
  let gradients = [
    "b.selectExtreme(dy, getLhs(), getRhs(), ComparePredicate::GT)",
    "b.selectExtreme(dy, getRhs(), getLhs(), ComparePredicate::GT)"];
}

def MPT_MinimumOp : MPT_BinaryOp<"minimum", "Clear", "Clear", [Commutative]> {
  let summary = "smaller of two elements, with broadcasting";
  let otherNames = [
    OtherName<"torch.minimum">,
    OtherName<"torch.min",
             "for two tensors; of one tensor it is `mpt.reduce` with "
             "`kind = #mpt.reduce_kind<min>`">];
  let description = [{
    The result is NaN if either element is. Shapes broadcast as in NumPy: they
    are aligned at the last dimension, and sizes are equal or one of them is 1.
    Both operands are floats, or both have one integer type other than i1.
    Floats are computed in f32 (f64 if an operand is f64) and rounded once to
    the result's type; integers wrap around.

    Example:

    ```mlir
    %y = mpt.minimum %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let scalar = [{ return b.min(lhs, rhs); }];
  let gradients = [
    "b.selectExtreme(dy, getLhs(), getRhs(), ComparePredicate::LT)",
    "b.selectExtreme(dy, getRhs(), getLhs(), ComparePredicate::LT)"];
}

def MPT_PowOp : MPT_InferredOp<"pow", "Deny", "Deny", [MPT_Elementwise, MPT_Differentiable]> {
  let summary = "power of two tensors, elementwise with broadcasting";
  let otherNames = [OtherName<"torch.pow">, OtherName<"power">];
  let description = [{
    result = lhs^rhs, computed in f32 (f64 if an operand is f64) and rounded
    once to the result's type. Shapes broadcast as in `mpt.add`. A negative base
    with an exponent that is not an integer gives NaN.

    Example:

    ```mlir
    %y = mpt.pow %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "any shape; the base">:$lhs,
    Arg<MPT_FloatTensor, "broadcasts with lhs; the exponent">:$rhs);
  let results = (outs
    Res<MPT_FloatTensor, "the broadcast shape">:$result);
  let inferTypes = MPT_Arithmetic.body;
  let scalar = [{ return b.pow(lhs, rhs); }];
  let gradients = ["b.powBase(dy, getLhs(), getRhs())",
                   "b.powExponent(dy, getLhs(), getResult())"];
}

def MPT_CompareOp : MPT_InferredOp<"compare", "Clear", "Clear", [MPT_Elementwise]> {
  let summary = "comparison of two tensors, elementwise with broadcasting";
  let otherNames = [
    OtherName<"torch.eq", "with `predicate = #mpt.predicate<eq>`">,
    OtherName<"torch.ne", "with `predicate = #mpt.predicate<ne>`">,
    OtherName<"torch.lt", "with `predicate = #mpt.predicate<lt>`">,
    OtherName<"torch.le", "with `predicate = #mpt.predicate<le>`">,
    OtherName<"torch.gt", "with `predicate = #mpt.predicate<gt>`">,
    OtherName<"torch.ge", "with `predicate = #mpt.predicate<ge>`">,
    OtherName<"torch.greater", "with `predicate = #mpt.predicate<gt>`">,
    OtherName<"torch.less", "with `predicate = #mpt.predicate<lt>`">,
    OtherName<"torch.greater_equal", "with `predicate = #mpt.predicate<ge>`">,
    OtherName<"torch.less_equal", "with `predicate = #mpt.predicate<le>`">,
    OtherName<"torch.not_equal", "with `predicate = #mpt.predicate<ne>`">,
    OtherName<"equal", "with `predicate = #mpt.predicate<eq>`">, OtherName<"cmp">];
  let description = [{
    Shapes broadcast as in `mpt.add`. Both operands are floats, or both have one
    integer type; integers are signed, and true is above false. A comparison
    with NaN is false, except `ne`, which is true.

    Example:

    ```mlir
    %c = mpt.compare %a, %b {predicate = #mpt.predicate<gt>}
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins
    Arg<MPT_Tensor, "any shape">:$lhs,
    Arg<MPT_Tensor, "broadcasts with lhs">:$rhs,
    Arg<MPT_Predicate, "which comparison">:$predicate);
  let results = (outs
    Res<MPT_BoolTensor, "the broadcast shape">:$result);
  let inferTypes = [{
    if (failed(inferArithmeticType(location, adaptor.getLhs(), adaptor.getRhs())))
      return failure();
    return inferBool(location, adaptor.getOperands(), context, types);
  }];
  let scalar = [{ return b.compare(lhs, rhs, getPredicate()); }];
}

class MPT_BitwiseOp<string mnemonic, string which, string compute>
    : MPT_InferredOp<mnemonic, "Clear", "Clear", [MPT_Elementwise, Commutative]> {
  let summary = mnemonic # " of each bit, elementwise with broadcasting; logical "
                # mnemonic # " for i1";
  let description = [{
    Each bit of the result is 1 where }] # which # [{. Both operands have one
    integer type; i1 is true or false. Shapes broadcast as in `mpt.add`.

    Example:

    ```mlir
    %c = mpt.}] # mnemonic # [{ %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins
    Arg<MPT_IntTensor, "any shape">:$lhs,
    Arg<MPT_IntTensor, "broadcasts with lhs">:$rhs);
  let results = (outs
    Res<MPT_IntTensor, "the broadcast shape">:$result);
  let hasFolder = 1;
  let inferTypes = MPT_Bitwise.body;
  let scalar = "return b." # compute # "(lhs, rhs);";
}
def MPT_AndOp : MPT_BitwiseOp<"and", "the bits of both operands are 1", "bitAnd"> {
  let otherNames = [OtherName<"torch.logical_and">, OtherName<"torch.bitwise_and">];
}
def MPT_OrOp : MPT_BitwiseOp<"or", "the bit of an operand is 1", "bitOr"> {
  let otherNames = [OtherName<"torch.logical_or">, OtherName<"torch.bitwise_or">];
}
def MPT_XorOp : MPT_BitwiseOp<"xor", "the bits of the operands differ", "bitXor"> {
  let otherNames = [OtherName<"torch.logical_xor">, OtherName<"torch.bitwise_xor">];
}

class MPT_ShiftOp<string mnemonic, string how, string compute>
    : MPT_InferredOp<mnemonic, "Clear", "Clear", [MPT_Elementwise]> {
  let description = how # [{ The amount is an unsigned number. Both operands have
    one integer type. Shapes broadcast as in `mpt.add`.

    Example:

    ```mlir
    %y = mpt.}] # mnemonic # [{ %x, %n : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_WideIntTensor, "any shape; what is shifted">:$lhs,
    Arg<MPT_WideIntTensor, "broadcasts with lhs; by how many bits">:$rhs);
  let results = (outs
    Res<MPT_WideIntTensor, "the broadcast shape">:$result);
  let hasFolder = 1;
  let inferTypes = MPT_Arithmetic.body;
  let scalar = "return b." # compute # "(lhs, rhs);";
}
def MPT_ShiftLeftOp : MPT_ShiftOp<"shift_left", [{
    The bits of lhs move up by rhs places, and zeros follow. From the width of
    the type on, the result is 0.}], "shiftLeft"> {
  let summary = "shift of bits to the left, elementwise with broadcasting";
  let otherNames = [OtherName<"torch.bitwise_left_shift">, OtherName<"shl">];
}
def MPT_ShiftRightLogicalOp : MPT_ShiftOp<"shift_right_logical", [{
    The bits of lhs move down by rhs places, and zeros follow. From the width of
    the type on, the result is 0.}], "shiftRightLogical"> {
  let summary = "shift of bits to the right with zeros, elementwise with broadcasting";
  let otherNames = [OtherName<"shrui">, OtherName<"lshr">];
}
def MPT_ShiftRightArithmeticOp : MPT_ShiftOp<"shift_right_arithmetic", [{
    The bits of lhs move down by rhs places, and copies of the sign follow: lhs
    divided by 2^rhs, rounded down. From the width of the type on, the result is
    0, or -1 for a negative lhs.}], "shiftRightArithmetic"> {
  let summary =
    "shift of bits to the right with the sign, elementwise with broadcasting";
  let otherNames = [
    OtherName<"torch.bitwise_right_shift">, OtherName<"shrsi">, OtherName<"ashr">];
}

def MPT_WhereOp : MPT_InferredOp<"where", "Clear", "Clear", [MPT_Elementwise, MPT_Differentiable]> {
  let summary = "choice between two tensors, elementwise with broadcasting";
  let otherNames = [
    OtherName<"torch.where">,
    OtherName<"torch.masked_fill",
             "with the mask as condition and the fill value as `on_true`">,
    OtherName<"select">, OtherName<"cond">];
  let description = [{
    The result is `on_true` where the condition holds, else `on_false`. The
    element that is not chosen has no effect, even if it is NaN. Shapes of all
    three broadcast as in `mpt.add`; the choices are floats, or have one integer
    type.

    Example:

    ```mlir
    %y = mpt.where %c, %a, %b : (tensor<4x1xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_BoolTensor, "any shape">:$condition,
    Arg<MPT_Tensor, "broadcasts with the condition">:$on_true,
    Arg<MPT_Tensor, "broadcasts with both">:$on_false);
  let results = (outs
    Res<MPT_Tensor, "the broadcast shape">:$result);
  let hasFolder = 1;
  let inferTypes = [{
    FailureOr<Shape> shape = inferBroadcast(location, adaptor.getOperands());
    FailureOr<Type> type = inferArithmeticType(location, adaptor.getOnTrue(),
                                               adaptor.getOnFalse());
    if (failed(shape) || failed(type))
      return failure();
    types.push_back(RankedTensorType::get(*shape, *type));
    return success();
  }];
  let scalarWidens = 0;
  let scalar = [{ return b.where(condition, on_true, on_false); }];
  let gradient = [{
    Value zero = b.scalar(dy, 0.0);
    if (needed[1])
      operandGrads[1] =
          b.sumTo(b.where(getCondition(), dy, zero), getTensor(getOnTrue()));
    if (needed[2])
      operandGrads[2] = b.sumTo(b.where(b.make<NotOp>(getCondition()), dy, zero),
                                getTensor(getOnFalse()));
    return success();
  }];
}

//===----------------------------------------------------------------------===//
// Randomness
//===----------------------------------------------------------------------===//

def MPT_RandomMaskOp : MPT_InferredOp<"random_mask", "Clear", "Clear"> {
  let summary = "random mask of independent bits (Bernoulli)";
  let otherNames = [
    OtherName<"torch.bernoulli", "with `rate` = 1 - p">,
    OtherName<"torch.rand", "where a mask is what you need; there is no op for uniform numbers">];
  let description = [{
    An element is true (kept) with probability 1 - `rate`. Element i (row-major)
    is true if lane i mod 4 of Philox4x32-10 with key (seed, `stream`) and
    counter (attempt, i / 4) is at least floor(rate 2^32) (Salmon et al. 2011;
    the word layout is in mpt/Support/Philox.h). The same operands give the same
    bits on every machine.

    Example:

    ```mlir
    %m = mpt.random_mask %seed, %attempt
        {rate = 0.1 : f64, stream = 3 : i64, shape = array<i64: 4, 8>}
        : (tensor<i64>, tensor<i64>) -> tensor<4x8xi1>
    ```
  }];
  let arguments = (ins
    Arg<0DTensorOf<[I64]>,
        "scalar; the run's seed, an argument with the role `rng`">:$seed,
    Arg<0DTensorOf<[I64]>,
        "scalar; the number of steps tried, an argument with the role `rng`">:$attempt,
    Arg<F64Attr, "probability of false, in [0, 1)">:$rate,
    Arg<I64Attr, "number that no other random op of the function has">:$stream,
    Arg<DenseI64ArrayAttr, "the result's shape">:$shape);
  let results = (outs
    Res<MPT_BoolTensor, "`shape`">:$mask);
  let inferTypes = [{
    return inferRandom(location, adaptor.getShape(), IntegerType::get(context, 1), types);
  }];
  let hasVerifier = 1;
}

def MPT_DropoutOp : MPT_InferredOp<"dropout", "Infer", "Infer", [MPT_InPlace, MPT_Differentiable]> {
  let summary = "dropout with explicit random state";
  let otherNames = [
    OtherName<"torch.dropout">, OtherName<"F.dropout">, OtherName<"nn.Dropout">];
  let description = [{
    y = mask ? x / (1 - rate) : 0. The mask is that of `mpt.random_mask` with
    x's shape. To evaluate without dropout, leave the op out or set `rate` to 0.

    Example:

    ```mlir
    %y, %mask = mpt.dropout %x, %seed, %attempt {rate = 0.1 : f64, stream = 3 : i64}
        : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xi1>)
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "any shape">:$x,
    Arg<0DTensorOf<[I64]>,
        "scalar; the run's seed, an argument with the role `rng`">:$seed,
    Arg<0DTensorOf<[I64]>,
        "scalar; the number of steps tried, an argument with the role `rng`">:$attempt,
    Arg<F64Attr,
        "probability that an element becomes 0, in [0, 1); PyTorch's `p`">:$rate,
    Arg<I64Attr, "number that no other random op of the function has">:$stream);
  let results = (outs
    Res<MPT_FloatTensor, "x's shape">:$y,
    Res<MPT_BoolTensor, "x's shape; true where x was kept">:$mask);
  let inferTypes = [{
    auto type = getTensor(adaptor.getX());
    types.push_back(type);
    types.push_back(type.clone(IntegerType::get(context, 1)));
    return success();
  }];
  let hasVerifier = 1;
  let gradients = ["b.make<DropoutGradOp>(dy, getMask(), getRateAttr())"];
}

def MPT_DropoutGradOp : MPT_InferredOp<"dropout_grad", "Infer", "Infer", [MPT_InPlace]> {
  let summary = "gradient of `mpt.dropout`";
  let opDocGroup = MPT_GradientDocs;
  let description = [{
    dx = mask ? dy / (1 - rate) : 0.

    Example:

    ```mlir
    %dx = mpt.dropout_grad %dy, %mask {rate = 0.1 : f64}
        : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins
    Arg<MPT_FloatTensor, "gradient of the result">:$dy,
    Arg<MPT_BoolTensor, "dy's shape; from `mpt.dropout`">:$mask,
    Arg<F64Attr, "as in `mpt.dropout`">:$rate);
  let results = (outs
    Res<MPT_FloatTensor, "dy's shape">:$dx);
  let hasVerifier = 1;
  let inferTypes = MPT_LikeGradient.body;
}

} // MPT_ElementwiseDocs

#endif // MPT_DIALECT_MPT_IR_MPTOPSPOINTWISE_TD
