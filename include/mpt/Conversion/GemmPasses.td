//===- GemmPasses.td - Products of GPU libraries -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_CONVERSION_GEMMPASSES_TD
#define MPT_CONVERSION_GEMMPASSES_TD

include "mlir/Pass/PassBase.td"

def FuseGemmEpiloguesPass : Pass<"mpt-fuse-gemm-epilogues", "::mlir::ModuleOp"> {
  let summary = "Make gradients epilogues of cuBLASLt's products";
  let description = [{
    Makes `mpt.gemm` of a product and

    - its ReLU or tanh GELU, if the gradient of that can use what the product saves,
    - the gradient of a ReLU or tanh GELU that reads it, and the sum of that over rows
      (a bias's gradient) if it has the product's type,
    - the sum over rows of the gradient that it makes a weight's gradient from, if no
      kernel makes that gradient,
    - a micro-batch's gradient of a weight and the sum over those before it.

    Only what cuBLASLt can do on all of `chip`. GELU only where all are sm_90 or sm_100:
    elsewhere cuBLASLt has a kernel for it behind the product. The result of a product
    is not rounded before its GELU or GELU's gradient: one rounding less.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string", "Architectures (sm_80, sm_90, ...)">,
  ];
}

def LegalizeForGPUPass : Pass<"mpt-legalize-for-gpu", "::mlir::ModuleOp"> {
  let summary = "Give a step products and attention that GPUs do";
  let description = [{
    Products that cuBLASLt can only do with an f32 result on one of `chip` get that and a
    cast (mpt/Conversion/WidenProducts.h). Attention that device functions do is marked,
    so that it is not decomposed; the rest is named by mpt.cuda.attention-decomposed.
  }];
  let options = [
    ListOption<"chips", "chip", "std::string", "Architectures (sm_80, sm_90, ...)">,
    Option<"lowBiases", "low-biases", "bool", "false",
           "Round biases of f16 and bf16 products to their type instead">,
    Option<"fusedAttention", "fused-attention", "bool", "true",
           "Mark attention; else all of it is decomposed">,
  ];
  let dependentDialects = ["::mpt::MPTDialect"];
}

def ReportGemmsPass : Pass<"mpt-report-gemms", "::mlir::ModuleOp"> {
  let summary = "Say which products of a program tensor cores do not do";
  let description = [{
    A remark for each product of f32 that is summed exactly, and for each one with rows
    that are no multiples of 16 bytes.
  }];
}

#endif // MPT_CONVERSION_GEMMPASSES_TD
