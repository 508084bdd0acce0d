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
// Unary
//===----------------------------------------------------------------------===//

class MPT_UnaryOp<string mnemonic, string f16Class, string bf16Class,
                  list<Trait> traits = []>
    : MPT_InferredOp<mnemonic, f16Class, bf16Class,
                     !listconcat([MPT_Differentiable], traits)> {
  let arguments = (ins MPT_FloatTensor:$x);
  let results = (outs MPT_FloatTensor:$y);
}

def MPT_NegOp : MPT_UnaryOp<"neg", "Clear", "Clear"> {
  let summary = "-x, elementwise";
  let description = [{
    Computes -x, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
}

def MPT_AbsOp : MPT_UnaryOp<"abs", "Clear", "Clear"> {
  let summary = "|x|, elementwise";
  let description = [{
    Computes |x|, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.abs %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_ExpOp : MPT_UnaryOp<"exp", "Deny", "Deny"> {
  let summary = "e^x, elementwise";
  let description = [{
    Computes e^x, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_LogOp : MPT_UnaryOp<"log", "Infer", "Infer"> {
  let summary = "the natural logarithm, elementwise";
  let description = [{
    Computes the natural logarithm, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.log %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_SqrtOp : MPT_UnaryOp<"sqrt", "Infer", "Infer"> {
  let summary = "the square root, elementwise";
  let description = [{
    Computes the square root, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.sqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_RsqrtOp : MPT_UnaryOp<"rsqrt", "Infer", "Infer"> {
  let summary = "1 / sqrt(x), elementwise";
  let description = [{
    Computes 1 / sqrt(x), in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.rsqrt %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_ReciprocalOp : MPT_UnaryOp<"reciprocal", "Infer", "Infer"> {
  let summary = "1 / x, elementwise";
  let description = [{
    Computes 1 / x, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.reciprocal %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_TanhOp : MPT_UnaryOp<"tanh", "Infer", "Infer"> {
  let summary = "the hyperbolic tangent, elementwise";
  let description = [{
    Computes the hyperbolic tangent, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_SigmoidOp : MPT_UnaryOp<"sigmoid", "Infer", "Infer"> {
  let summary = "1 / (1 + e^-x), elementwise";
  let description = [{
    Computes 1 / (1 + e^-x), in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_ErfOp : MPT_UnaryOp<"erf", "Infer", "Infer"> {
  let summary = "the error function, elementwise";
  let description = [{
    Computes the error function, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.erf %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_SinOp : MPT_UnaryOp<"sin", "Deny", "Deny"> {
  let summary = "sine, x in radians, elementwise";
  let description = [{
    Computes sine, x in radians, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.sin %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_CosOp : MPT_UnaryOp<"cos", "Deny", "Deny"> {
  let summary = "cosine, x in radians, elementwise";
  let description = [{
    Computes cosine, x in radians, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.cos %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_ReluOp : MPT_UnaryOp<"relu", "Clear", "Clear"> {
  let summary = "max(x, 0); NaN stays NaN, elementwise";
  let description = [{
    Computes max(x, 0); NaN stays NaN, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_SiluOp : MPT_UnaryOp<"silu", "Infer", "Infer"> {
  let summary = "x * sigmoid(x) (swish), elementwise";
  let description = [{
    Computes x * sigmoid(x) (swish), in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_SignOp : MPT_UnaryOp<"sign", "Clear", "Clear"> {
  let summary = "-1, 0 or 1; NaN stays NaN, elementwise";
  let description = [{
    Computes -1, 0 or 1; NaN stays NaN, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.sign %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_FloorOp : MPT_UnaryOp<"floor", "Clear", "Clear"> {
  let summary = "the largest integer not above x, elementwise";
  let description = [{
    Computes the largest integer not above x, in f32 (f64 for f64), rounded once to the result's type.

    Example:

    ```mlir
    %y = mpt.floor %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_GeluOp : MPT_InferredOp<"gelu", "Infer", "Infer", [MPT_Differentiable]> {
  let summary = "Gaussian error linear unit, elementwise";
  let description = [{
    `approximate = none`: x * Phi(x) with the error function; `tanh`:
    0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016).

    Example:

    ```mlir
    %y = mpt.gelu %x {approximate = #mpt.gelu<tanh>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x,
    DefaultValuedAttr<MPT_GeluKind, "::mpt::GeluApproximation::Erf">:$approximate);
  let results = (outs MPT_FloatTensor:$y);
}

def MPT_IsFiniteOp : MPT_InferredOp<"is_finite", "Clear", "Clear"> {
  let summary = "true where x is neither an infinity nor a NaN";
  let description = [{
    Example:

    ```mlir
    %y = mpt.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x);
  let results = (outs MPT_BoolTensor:$y);
}

def MPT_NotOp : MPT_InferredOp<"not", "Clear", "Clear"> {
  let summary = "logical negation, elementwise";
  let description = [{
    Example:

    ```mlir
    %y = mpt.not %x : (tensor<4xi1>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins MPT_BoolTensor:$x);
  let results = (outs MPT_BoolTensor:$y);
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Derivatives of activations
//===----------------------------------------------------------------------===//

class MPT_ActivationGradOp<string mnemonic, string f16Class, string bf16Class>
    : MPT_InferredOp<mnemonic, f16Class, bf16Class> {
  let results = (outs MPT_FloatTensor:$dx);
}

def MPT_ReluGradOp : MPT_ActivationGradOp<"relu_grad", "Clear", "Clear"> {
  let summary = "gradient of `mpt.relu`";
  let description = [{
    Computes dy where y > 0, else 0; `y` is relu's result (its sign, so relu's operand serves too).

    Example:

    ```mlir
    %dx = mpt.relu_grad %dy, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$y);
}

def MPT_TanhGradOp : MPT_ActivationGradOp<"tanh_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.tanh`";
  let description = [{
    Computes dy * (1 - y^2), `y` being tanh's result.

    Example:

    ```mlir
    %dx = mpt.tanh_grad %dy, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$y);
}

def MPT_SigmoidGradOp : MPT_ActivationGradOp<"sigmoid_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.sigmoid`";
  let description = [{
    Computes dy * y * (1 - y), `y` being sigmoid's result.

    Example:

    ```mlir
    %dx = mpt.sigmoid_grad %dy, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$y);
}

def MPT_SiluGradOp : MPT_ActivationGradOp<"silu_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.silu`";
  let description = [{
    Computes dy * s * (1 + x (1 - s)) with s = sigmoid(x).

    Example:

    ```mlir
    %dx = mpt.silu_grad %dy, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$x);
}

def MPT_GeluGradOp : MPT_ActivationGradOp<"gelu_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.gelu`";
  let description = [{
    Computes dy * gelu'(x) for the same `approximate`.

    Example:

    ```mlir
    %dx = mpt.gelu_grad %dy, %x {approximate = #mpt.gelu<tanh>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_FloatTensor:$x,
    DefaultValuedAttr<MPT_GeluKind, "::mpt::GeluApproximation::Erf">:$approximate);
}

//===----------------------------------------------------------------------===//
// Binary, with NumPy broadcasting
//===----------------------------------------------------------------------===//

class MPT_BinaryOp<string mnemonic, string f16Class, string bf16Class,
                   list<Trait> traits = []>
    : MPT_InferredOp<mnemonic, f16Class, bf16Class,
                     !listconcat([MPT_Differentiable], traits)> {
  let arguments = (ins MPT_Tensor:$lhs, MPT_Tensor:$rhs);
  let results = (outs MPT_Tensor:$result);
}

def MPT_AddOp : MPT_BinaryOp<"add", "Infer", "Infer", [Commutative]> {
  let summary = "lhs + rhs, elementwise with broadcasting";
  let description = [{
    Shapes broadcast as in NumPy: aligned at the last dimension, sizes equal or
    one of them 1. Floats compute in f32 and round once; both operands are
    floats or both have one integer type other than i1.

    Example:

    ```mlir
    %y = mpt.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
}

def MPT_SubOp : MPT_BinaryOp<"sub", "Infer", "Infer", []> {
  let summary = "lhs - rhs, elementwise with broadcasting";
  let description = [{
    Shapes broadcast as in NumPy: aligned at the last dimension, sizes equal or
    one of them 1. Floats compute in f32 and round once; both operands are
    floats or both have one integer type other than i1.

    Example:

    ```mlir
    %y = mpt.sub %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
}

def MPT_MulOp : MPT_BinaryOp<"mul", "Infer", "Infer", [Commutative]> {
  let summary = "lhs * rhs, elementwise with broadcasting";
  let description = [{
    Shapes broadcast as in NumPy: aligned at the last dimension, sizes equal or
    one of them 1. Floats compute in f32 and round once; both operands are
    floats or both have one integer type other than i1.

    Example:

    ```mlir
    %y = mpt.mul %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
}

def MPT_DivOp : MPT_BinaryOp<"div", "Infer", "Infer", []> {
  let summary = "lhs / rhs (integers: truncated; by zero: 0), elementwise with broadcasting";
  let description = [{
    Shapes broadcast as in NumPy: aligned at the last dimension, sizes equal or
    one of them 1. Floats compute in f32 and round once; both operands are
    floats or both have one integer type other than i1.

    Example:

    ```mlir
    %y = mpt.div %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let hasFolder = 1;
}

def MPT_MaximumOp : MPT_BinaryOp<"maximum", "Clear", "Clear", [Commutative]> {
  let summary = "the larger; NaN if either is, elementwise with broadcasting";
  let description = [{
    Shapes broadcast as in NumPy: aligned at the last dimension, sizes equal or
    one of them 1. Floats compute in f32 and round once; both operands are
    floats or both have one integer type other than i1.

    Example:

    ```mlir
    %y = mpt.maximum %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_MinimumOp : MPT_BinaryOp<"minimum", "Clear", "Clear", [Commutative]> {
  let summary = "the smaller; NaN if either is, elementwise with broadcasting";
  let description = [{
    Shapes broadcast as in NumPy: aligned at the last dimension, sizes equal or
    one of them 1. Floats compute in f32 and round once; both operands are
    floats or both have one integer type other than i1.

    Example:

    ```mlir
    %y = mpt.minimum %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def MPT_PowOp : MPT_InferredOp<"pow", "Deny", "Deny", [MPT_Differentiable]> {
  let summary = "lhs to the power rhs, elementwise with broadcasting";
  let description = [{
    Shapes broadcast as in NumPy: aligned at the last dimension, sizes equal or
    one of them 1. Computed in f32 and rounded once.

    Example:

    ```mlir
    %y = mpt.pow %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$lhs, MPT_FloatTensor:$rhs);
  let results = (outs MPT_FloatTensor:$result);
}

def MPT_CompareOp : MPT_InferredOp<"compare", "Clear", "Clear"> {
  let summary = "elementwise comparison with broadcasting";
  let description = [{
    Example:

    ```mlir
    %c = mpt.compare %a, %b {predicate = #mpt.predicate<gt>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins MPT_Tensor:$lhs, MPT_Tensor:$rhs, MPT_Predicate:$predicate);
  let results = (outs MPT_BoolTensor:$result);
}

class MPT_LogicalOp<string mnemonic, string what>
    : MPT_InferredOp<mnemonic, "Clear", "Clear", [Commutative]> {
  let summary = "logical " # what # ", elementwise with broadcasting";
  let description = [{
    Example:

    ```mlir
    %c = mpt.}] # mnemonic # [{ %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins MPT_BoolTensor:$lhs, MPT_BoolTensor:$rhs);
  let results = (outs MPT_BoolTensor:$result);
}
def MPT_AndOp : MPT_LogicalOp<"and", "and">;
def MPT_OrOp : MPT_LogicalOp<"or", "or">;

def MPT_WhereOp : MPT_InferredOp<"where", "Clear", "Clear", [MPT_Differentiable]> {
  let summary = "on_true where the condition holds, else on_false; broadcasts";
  let description = [{
    The operand not chosen is not looked at: a NaN there does not spread.

    Example:

    ```mlir
    %y = mpt.where %c, %a, %b : (tensor<4x1xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins MPT_BoolTensor:$condition, MPT_Tensor:$on_true,
                       MPT_Tensor:$on_false);
  let results = (outs MPT_Tensor:$result);
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Randomness
//===----------------------------------------------------------------------===//

def MPT_RandomMaskOp : MPT_InferredOp<"random_mask", "Clear", "Clear"> {
  let summary = "Bernoulli mask from Philox4x32-10";
  let description = [{
    True (kept) with probability 1 - `rate`. Element i (row-major) is kept iff
    lane i mod 4 of Philox4x32-10 with key (seed, `stream`) and counter
    (attempt, i / 4) is >= floor(rate * 2^32) (Salmon et al. 2011; word layout
    in mpt/Support/Philox.h). `seed` and `attempt` are i64 scalars. The same
    operands give the same bits on every machine.

    Example:

    ```mlir
    %m = mpt.random_mask %seed, %attempt {rate = 0.1 : f64, stream = 3 : i64, shape = array<i64: 4, 8>} : (tensor<i64>, tensor<i64>) -> tensor<4x8xi1>
    ```
  }];
  let arguments = (ins 0DTensorOf<[I64]>:$seed, 0DTensorOf<[I64]>:$attempt,
                       F64Attr:$rate, I64Attr:$stream,
                       DenseI64ArrayAttr:$shape);
  let results = (outs MPT_BoolTensor:$mask);
  let hasVerifier = 1;
}

def MPT_DropoutOp : MPT_InferredOp<"dropout", "Infer", "Infer", [MPT_Differentiable]> {
  let summary = "dropout with explicit random state";
  let description = [{
    y = mask ? x / (1 - rate) : 0 with mask as in `mpt.random_mask` over x's
    shape. Every dropout of a function needs its own `stream`.

    Example:

    ```mlir
    %y, %mask = mpt.dropout %x, %seed, %attempt {rate = 0.1 : f64, stream = 3 : i64} : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<4x8xf32>, tensor<4x8xi1>)
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$x, 0DTensorOf<[I64]>:$seed,
                       0DTensorOf<[I64]>:$attempt, F64Attr:$rate, I64Attr:$stream);
  let results = (outs MPT_FloatTensor:$y, MPT_BoolTensor:$mask);
  let hasVerifier = 1;
}

def MPT_DropoutGradOp : MPT_InferredOp<"dropout_grad", "Infer", "Infer"> {
  let summary = "gradient of `mpt.dropout`";
  let description = [{
    dx = mask ? dy / (1 - rate) : 0.

    Example:

    ```mlir
    %dx = mpt.dropout_grad %dy, %mask {rate = 0.1 : f64} : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins MPT_FloatTensor:$dy, MPT_BoolTensor:$mask, F64Attr:$rate);
  let results = (outs MPT_FloatTensor:$dx);
  let hasVerifier = 1;
}

#endif // MPT_DIALECT_MPT_IR_MPTOPSPOINTWISE_TD
