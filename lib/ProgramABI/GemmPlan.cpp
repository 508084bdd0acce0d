//===- GemmPlan.cpp - A matmul as a call of cuBLASLt -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/GemmPlan.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/CudaCallPlan.h"
#include "mpt/ProgramABI/CudnnPlan.h"

#include <algorithm>
#include <iterator>

using namespace mpt::rt;

static const char *nameOf(DataType type) {
  static const char *const names[] = {"f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2",
                                      "i64", "i32", "i16", "i8",   "i1"};
  return names[static_cast<int>(type)];
}

/// Of an operand: i8 holds two numbers of four bits.
static const char *nameOfOperand(DataType type) {
  return type == DataType::I8 ? "f4E2M1FN" : nameOf(type);
}

const char *mpt::rt::getName(GemmEpilogue epilogue) {
  switch (epilogue) {
  case GemmEpilogue::Default:
    return "DEFAULT";
  case GemmEpilogue::Relu:
    return "RELU";
  case GemmEpilogue::Bias:
    return "BIAS";
  case GemmEpilogue::ReluBias:
    return "RELU_BIAS";
  case GemmEpilogue::Gelu:
    return "GELU";
  case GemmEpilogue::GeluBias:
    return "GELU_BIAS";
  case GemmEpilogue::ReluAux:
    return "RELU_AUX";
  case GemmEpilogue::ReluAuxBias:
    return "RELU_AUX_BIAS";
  case GemmEpilogue::DRelu:
    return "DRELU";
  case GemmEpilogue::DReluBGrad:
    return "DRELU_BGRAD";
  case GemmEpilogue::GeluAux:
    return "GELU_AUX";
  case GemmEpilogue::GeluAuxBias:
    return "GELU_AUX_BIAS";
  case GemmEpilogue::DGelu:
    return "DGELU";
  case GemmEpilogue::DGeluBGrad:
    return "DGELU_BGRAD";
  case GemmEpilogue::BGradA:
    return "BGRADA";
  case GemmEpilogue::BGradB:
    return "BGRADB";
  }
  return "unknown";
}

static const char *nameOf(GemmCompute compute) {
  switch (compute) {
  case GemmCompute::F32:
    return "32F";
  case GemmCompute::F64:
    return "64F";
  case GemmCompute::F32FastTF32:
    return "32F_FAST_TF32";
  case GemmCompute::F32EmulatedBF16x9:
    return "32F_EMULATED_16BFX9";
  }
  return "unknown";
}

GemmEpilogue mpt::rt::getGemmEpilogue(const MatmulCall &call) {
  bool isRelu = call.epilogue == Epilogue::Relu;
  // The columns of rhs are the rows of cuBLASLt's A.
  if (call.epilogue == Epilogue::None)
    return call.hasBiasGrad ? GemmEpilogue::BGradA
           : call.hasBias   ? GemmEpilogue::Bias
                            : GemmEpilogue::Default;
  if (call.hasSaved && call.hasBias)
    return isRelu ? GemmEpilogue::ReluAuxBias : GemmEpilogue::GeluAuxBias;
  if (call.hasSaved)
    return isRelu ? GemmEpilogue::ReluAux : GemmEpilogue::GeluAux;
  if (call.hasBiasGrad)
    return isRelu ? GemmEpilogue::DReluBGrad : GemmEpilogue::DGeluBGrad;
  if (call.hasAux)
    return isRelu ? GemmEpilogue::DRelu : GemmEpilogue::DGelu;
  if (call.hasBias)
    return isRelu ? GemmEpilogue::ReluBias : GemmEpilogue::GeluBias;
  return isRelu ? GemmEpilogue::Relu : GemmEpilogue::Gelu;
}

bool mpt::rt::usesBias(GemmEpilogue epilogue) {
  switch (epilogue) {
  case GemmEpilogue::Default:
  case GemmEpilogue::Relu:
  case GemmEpilogue::Gelu:
  case GemmEpilogue::ReluAux:
  case GemmEpilogue::GeluAux:
  case GemmEpilogue::DRelu:
  case GemmEpilogue::DGelu:
    return false;
  default:
    return true;
  }
}

bool mpt::rt::usesAux(GemmEpilogue epilogue) {
  // cuBLASLt marks them by this bit, but for the gradients of biases alone.
  return static_cast<int32_t>(epilogue) & 128;
}

bool mpt::rt::writesBias(GemmEpilogue epilogue) {
  return epilogue == GemmEpilogue::DReluBGrad || epilogue == GemmEpilogue::DGeluBGrad ||
         epilogue == GemmEpilogue::BGradA || epilogue == GemmEpilogue::BGradB;
}

bool mpt::rt::writesAux(GemmEpilogue epilogue) {
  return epilogue == GemmEpilogue::ReluAux || epilogue == GemmEpilogue::ReluAuxBias ||
         epilogue == GemmEpilogue::GeluAux || epilogue == GemmEpilogue::GeluAuxBias;
}

bool mpt::rt::hasBits(GemmEpilogue epilogue) {
  return epilogue == GemmEpilogue::ReluAux || epilogue == GemmEpilogue::ReluAuxBias ||
         epilogue == GemmEpilogue::DRelu || epilogue == GemmEpilogue::DReluBGrad;
}

bool mpt::rt::makeGemmPlan(const Instruction &call, bool allowTF32, GemmPlan &plan,
                           std::string &error) {
  MatmulShape shape;
  const auto *matmul = call.getCall<MatmulCall>();
  if (!matmul || !getMatmulShape(call, shape)) {
    error = "the operands of a matmul do not fit together";
    return false;
  }
  plan = GemmPlan();
  plan.batch = shape.batch;
  plan.m = shape.n;
  plan.n = shape.m;
  // Two numbers in a byte.
  plan.k = shape.lhs == DataType::I8 ? 2 * shape.k : shape.k;
  plan.transposeA = shape.transposeRhs;
  plan.transposeB = shape.transposeLhs;
  bool isBatch = plan.batch > 1;
  auto matrix = [&](DataType type, int64_t rows, int64_t columns, bool isOne) {
    return GemmMatrix{type, rows, columns, rows, isBatch && !isOne ? rows * columns : 0};
  };
  plan.a = plan.transposeA ? matrix(shape.rhs, plan.k, plan.m, shape.sharedRhs)
                           : matrix(shape.rhs, plan.m, plan.k, shape.sharedRhs);
  plan.b = plan.transposeB ? matrix(shape.lhs, plan.n, plan.k, false)
                           : matrix(shape.lhs, plan.k, plan.n, false);
  plan.d = matrix(shape.out, plan.m, plan.n, false);
  if (shape.lhs == DataType::F64)
    plan.compute = GemmCompute::F64;
  else if (allowTF32 && shape.lhs == DataType::F32 && shape.rhs == DataType::F32 &&
           shape.out == DataType::F32)
    plan.compute = GemmCompute::F32FastTF32;
  if (matmul->f32Matmuls == F32Matmuls::TF32)
    plan.compute = GemmCompute::F32FastTF32;
  else if (matmul->f32Matmuls == F32Matmuls::BF16x9)
    plan.compute = GemmCompute::F32EmulatedBF16x9;
  if (matmul->hasLhsScales != matmul->hasRhsScales) {
    error = "one operand of a matmul has scales, and the other has none";
    return false;
  }
  plan.scalingA = matmul->rhsScaling;
  plan.scalingB = matmul->lhsScaling;
  plan.fastAccumulation = matmul->fastAccumulation;
  plan.beta = matmul->accumulate || matmul->hasAddend ? 1 : 0;
  plan.epilogue = getGemmEpilogue(*matmul);
  if (matmul->hasBias)
    plan.bias = call.refs[2].type;
  if (!usesMoreBuffers(*matmul))
    return true;
  if (!checkCall(call, error))
    return false;
  if (writesBias(plan.epilogue))
    plan.bias = call.refs[call.numInputs + 1].type;
  if (usesAux(plan.epilogue)) {
    // The last input or output; bits come in bytes.
    const BufferRef &aux =
        writesAux(plan.epilogue) ? call.refs[call.numInputs + 1] : call.refs[2];
    plan.auxLd = aux.dims.back() * (hasBits(plan.epilogue) ? 8 : 1);
  }
  return true;
}

static bool fail(std::string &error, std::string message) {
  error = std::move(message);
  return false;
}

/// The table of types: what A, B and D may be together.
static bool checkTypes(const GemmPlan &plan, int sm, std::string &error) {
  DataType a = plan.a.type, b = plan.b.type, d = plan.d.type;
  std::string found = std::string("a matmul of ") + nameOfOperand(b) + " and " +
                      nameOfOperand(a) + " into " + nameOf(d);
  const bool isFour = a == DataType::I8 && b == DataType::I8;
  if (isFour || isF8(a) || isF8(b)) {
    if (!isFour && (!isF8(a) || !isF8(b)))
      return fail(error, found + ": both operands must be 8 bits wide; cast one");
    if (sm < (isFour ? 100 : 89))
      return fail(error, found + " needs sm_" + (isFour ? "100" : "89") + " or newer");
    if (a == DataType::F8E5M2 && b == DataType::F8E5M2)
      return fail(error, found + ": one operand must be f8E4M3FN");
    if (d != DataType::F32 && d != DataType::F16 && d != DataType::BF16)
      return fail(error, found + ": the result must be f32, f16 or bf16");
    if (wantsSummedLast(sm) && (!plan.transposeA || plan.transposeB))
      return fail(error, found + ": on sm_" + std::to_string(sm) +
                             " the summed dimension must be the last one of both "
                             "operands; transpose a copy");
    if (plan.m % 16 || plan.n % 16 || plan.k % (isFour ? 32 : 16))
      return fail(error, found + ": all dimensions must be multiples of 16" +
                             (isFour ? ", and K of 32" : ""));
    return true;
  }
  if (a != b)
    return fail(error, found + ": both operands must have one type; cast one");
  bool fits = a == DataType::F64                          ? d == DataType::F64
              : a == DataType::F32                        ? d == DataType::F32
              : a == DataType::F16 || a == DataType::BF16 ? d == a || d == DataType::F32
                                                          : false;
  if (!fits)
    return fail(error, found + " does not exist in cuBLASLt; the result may have the "
                               "operands' type, or be f32 if they are f16 or bf16");
  return true;
}

/// The table of scaling modes, and what goes with them.
static bool checkScaling(const GemmPlan &plan, int sm, std::string &error) {
  if (!plan.isScaled() && plan.a.type != DataType::I8)
    return true;
  const std::string found = std::string("a matmul with scales ") +
                            getName(plan.scalingA) + " and " + getName(plan.scalingB);
  if (plan.scalingA == GemmScaling::None || plan.scalingB == GemmScaling::None)
    return fail(error, found + ": either both operands have scales of blocks or none");
  const bool areFour = plan.scalingA == GemmScaling::Vec16UE4M3 &&
                       plan.scalingB == GemmScaling::Vec16UE4M3;
  auto fits = [&](DataType type) { return areFour ? type == DataType::I8 : isF8(type); };
  if (!fits(plan.a.type) || !fits(plan.b.type))
    return fail(error, found + " needs operands of " + (areFour ? "f4E2M1FN" : "8 bits") +
                           ", found " + nameOfOperand(plan.b.type) + " and " +
                           nameOfOperand(plan.a.type));
  auto areF32 = [](GemmScaling scaling) {
    return scaling == GemmScaling::Vec128F32 || scaling == GemmScaling::Block128F32;
  };
  if (areF32(plan.scalingA) && areF32(plan.scalingB)) {
    if (sm != 90)
      return fail(error, found + " exists for sm_90 alone, and this is sm_" +
                             std::to_string(sm) +
                             (sm >= 100 ? "; use VEC32_UE8M0 with scales that are powers "
                                          "of two"
                                        : "; use one scale for each tensor"));
    if (plan.scalingA == GemmScaling::Block128F32 &&
        plan.scalingB == GemmScaling::Block128F32)
      return fail(error, found + ": one operand must have VEC128_32F");
  } else if (plan.scalingA == GemmScaling::Vec32UE8M0 &&
             plan.scalingB == GemmScaling::Vec32UE8M0) {
    if (sm < 100)
      return fail(error, found + " needs sm_100 or newer, and this is sm_" +
                             std::to_string(sm) + "; use VEC128_32F");
  } else if (!areFour) {
    return fail(error, found + ": these do not go together for 8-bit floats");
  }
  if (plan.batch != 1)
    return fail(error, found + " is for one matmul, not for a batch");
  if (plan.compute != GemmCompute::F32)
    return fail(error, found + " is summed as 32F");
  if (plan.epilogue != GemmEpilogue::Default && plan.epilogue != GemmEpilogue::Bias)
    return fail(error,
                found + " has no epilogue but a bias; found " + getName(plan.epilogue));
  return true;
}

static bool checkAccumulation(const GemmPlan &plan, std::string &error) {
  if (!plan.fastAccumulation)
    return true;
  const char *needs = "fast accumulation is for matmuls of two 8-bit floats";
  if (!isF8(plan.a.type) || !isF8(plan.b.type))
    return fail(error, std::string(needs) + ", found " + nameOfOperand(plan.b.type) +
                           " and " + nameOfOperand(plan.a.type));
  return !plan.isScaled() ||
         fail(error, std::string(needs) + " without scales of blocks, found " +
                         getName(plan.scalingA) + " and " + getName(plan.scalingB));
}

static bool checkEpilogue(const GemmPlan &plan, std::string &error) {
  std::string name = std::string("the epilogue ") + getName(plan.epilogue);
  if (std::string(getName(plan.epilogue)) == "unknown")
    return fail(error, "epilogue " + std::to_string(static_cast<int>(plan.epilogue)) +
                           " does not exist in cuBLASLt");
  if (plan.epilogue == GemmEpilogue::Default)
    return true;
  DataType d = plan.d.type;
  if (d == DataType::F64)
    return fail(error, name + " does not exist for f64");
  bool isF8Into32 = isF8(plan.a.type) && d == DataType::F32;
  DataType bias = isF8Into32 ? DataType::BF16 : d;
  if (usesBias(plan.epilogue) && plan.bias != bias)
    return fail(error, name + " needs a bias of " + nameOf(bias) + " with a result of " +
                           nameOf(d) + ", found " + nameOf(plan.bias) +
                           "; cast it, or add it in a kernel");
  if (!usesAux(plan.epilogue))
    return true;
  int64_t multiple = hasBits(plan.epilogue) ? 128 : 8;
  if (plan.auxLd < plan.m || plan.auxLd % multiple != 0)
    return fail(error, name +
                           " needs a second matrix whose leading dimension is a "
                           "multiple of " +
                           std::to_string(multiple) + " and at least " +
                           std::to_string(plan.m) + ", found " +
                           std::to_string(plan.auxLd));
  return true;
}

bool mpt::rt::checkGemmPlan(const GemmPlan &plan, int sm, std::string &error) {
  constexpr int64_t most = 0x7fffffff;
  for (int64_t size : {plan.m, plan.n, plan.k, plan.batch})
    if (size < 1 || size > most)
      return fail(error, "a dimension of a matmul is " + std::to_string(size) +
                             "; cuBLASLt takes 1 to 2147483647");
  auto checkMatrix = [&](const GemmMatrix &matrix, const char *name, int64_t rows,
                         int64_t columns) {
    if (matrix.rows == rows && matrix.columns == columns && matrix.ld >= rows &&
        matrix.stride >= 0)
      return true;
    return fail(error, std::string("matrix ") + name + " of a matmul is " +
                           std::to_string(matrix.rows) + " x " +
                           std::to_string(matrix.columns) +
                           " with a leading dimension of " + std::to_string(matrix.ld) +
                           ", expected " + std::to_string(rows) + " x " +
                           std::to_string(columns));
  };
  if (!checkMatrix(plan.a, "A", plan.transposeA ? plan.k : plan.m,
                   plan.transposeA ? plan.m : plan.k) ||
      !checkMatrix(plan.b, "B", plan.transposeB ? plan.n : plan.k,
                   plan.transposeB ? plan.k : plan.n) ||
      !checkMatrix(plan.d, "D", plan.m, plan.n))
    return false;
  if (plan.batch > 1 && plan.d.stride < plan.d.ld * plan.n)
    return fail(error, "the results of a batch overlap");
  if (!checkTypes(plan, sm, error) || !checkScaling(plan, sm, error) ||
      !checkAccumulation(plan, error))
    return false;
  bool allF32 = plan.a.type == DataType::F32 && plan.d.type == DataType::F32;
  bool computes = false;
  switch (plan.compute) {
  case GemmCompute::F32:
    computes = plan.a.type != DataType::F64;
    break;
  case GemmCompute::F64:
    computes = plan.a.type == DataType::F64;
    break;
  case GemmCompute::F32FastTF32:
    computes = allF32 && sm >= 80;
    break;
  case GemmCompute::F32EmulatedBF16x9:
    if (allF32 && sm < 100)
      return fail(error, "summing as nine matmuls of bf16 needs sm_100 or newer");
    computes = allF32;
    break;
  }
  if (!computes)
    return fail(error, std::string("matmuls of ") + nameOf(plan.a.type) +
                           " are not computed as " + nameOf(plan.compute));
  return checkEpilogue(plan, error);
}

/// Whether a copy (that checkCall takes) is of all bytes in their order.
static bool isPlainCopy(const Instruction &call, const CopyCall &copy) {
  int64_t count = 1;
  bool isPlain = copy.srcOffset == 0 && copy.dstOffset == 0;
  for (size_t d = copy.sizes.size(); d-- > 0;) {
    if (copy.sizes[d] != 1)
      isPlain = isPlain && copy.srcStrides[d] == count && copy.dstStrides[d] == count;
    count *= copy.sizes[d];
  }
  return isPlain && count == call.refs[0].count() && count == call.refs[1].count();
}

/// Checks the matmuls of a convolution that checkCall takes. One in groups has none and
/// only
/// reads and writes numbers.
static bool checkConv(const Instruction &call, int sm, std::string &error) {
  CudaConv conv = planCudaConv(call);
  if (conv.kind == CudaConv::Kind::Loops) {
    for (DataType type : {conv.x, conv.filter, conv.y})
      if (type != DataType::F32 && type != DataType::F16 && type != DataType::BF16)
        return fail(error, std::string("a convolution in groups of ") + nameOf(type) +
                               " is not done on GPUs; use f32, f16 or bf16");
    return true;
  }
  for (int64_t chunk : {int64_t(0), conv.chunks - 1}) {
    GemmPlan plan;
    if (!makeGemmPlan(getConvMatmul(call, conv, chunk), /*allowTF32=*/false, plan,
                      error) ||
        !checkGemmPlan(plan, sm, error))
      return false;
  }
  return true;
}

template <typename Reduction>
static const char *findWhyNotNccl(const Reduction &call, const Instruction &instruction) {
  const DataType type = instruction.refs[0].type;
  if (type == DataType::I16 || type == DataType::I1 || isF8(type))
    return "NCCL cannot reduce i1, i16 or 8-bit floats";
  // It rounds sums of narrow types at each hop, and does not pass on NaN in a maximum.
  const bool isFloat = type <= DataType::F8E5M2;
  if (isFloat && (call.order != SumOrder::Library || call.kind != ReduceKind::Sum ||
                  (type != DataType::F32 && type != DataType::F64) ||
                  call.rounding != Rounding::None ||
                  instruction.refs[call.numInputs()].type != type))
    return "NCCL reduces floats by sums of f32 or f64 in an order of its own; "
           "--mpt-reductions-to-gathers makes gathers of other reductions";
  return nullptr;
}

/// Whether an exchange between ranks, whose buffers fit, is one that NCCL does.
static bool checkNcclCall(const Instruction &call, std::string &error) {
  const char *why = nullptr;
  if (const auto *reduce = call.getCall<AllReduceCall>())
    why = findWhyNotNccl(*reduce, call);
  else if (const auto *scatter = call.getCall<ReduceScatterCall>())
    why = findWhyNotNccl(*scatter, call);
  return !why || fail(error, why);
}

bool mpt::rt::checkCudaCall(const Instruction &call, int sm, std::string &error) {
  if (call.call && roundsOperands(*call.call))
    return fail(error, "GPUs do not round an operand while they read it; cast it first");
  if (call.getCall<MatmulCall>()) {
    GemmPlan plan;
    return makeGemmPlan(call, /*allowTF32=*/false, plan, error) &&
           checkGemmPlan(plan, sm, error);
  }
  if (!checkCall(call, error))
    return false;
  const std::optional<ConvCall> conv = getConv(call);
  if (conv && conv->isOIHW)
    return fail(error, "GPUs read filters [KH, KW, C / groups, O], found 'oihw'; "
                       "--mpt-legalize-for-gpu transposes them");
  if (isCudnnCall(call)) {
    CudnnPlan plan;
    // That of attention was made by checkCall.
    return !conv || makeCudnnPlan(call, plan, error);
  }
  if (conv)
    return checkConv(call, sm, error);
  if (call.getCall<WaitCall>() || call.getCall<RankCall>())
    return true;
  if (getRanks(*call.call) > 0)
    return checkNcclCall(call, error);
  if (const auto *copy = call.getCall<CopyCall>())
    return isPlainCopy(call, *copy) ||
           fail(error, "copies that rearrange elements are not done on GPUs yet");
  return fail(error,
              std::string("'") + getName(*call.call) + "' is not done on GPUs yet");
}

std::string mpt::rt::describeGemmPlan(const GemmPlan &plan) {
  auto matrix = [](const GemmMatrix &matrix, bool transposed) {
    std::string text =
        std::string(nameOfOperand(matrix.type)) + "[" + std::to_string(matrix.rows) +
        "x" + std::to_string(matrix.columns) + " ld " + std::to_string(matrix.ld);
    if (matrix.stride)
      text += " stride " + std::to_string(matrix.stride);
    return text + "]" + (transposed ? "T" : "N");
  };
  std::string text = "m=" + std::to_string(plan.m) + " n=" + std::to_string(plan.n) +
                     " k=" + std::to_string(plan.k);
  if (plan.batch > 1)
    text += " batch=" + std::to_string(plan.batch);
  text += " A=" + matrix(plan.a, plan.transposeA) +
          " B=" + matrix(plan.b, plan.transposeB) + " D=" + matrix(plan.d, false) +
          " compute=" + nameOf(plan.compute) + " epilogue=" + getName(plan.epilogue);
  if (usesBias(plan.epilogue))
    text += std::string(" bias=") + nameOf(plan.bias);
  if (plan.isScaled())
    text +=
        std::string(" scales=") + getName(plan.scalingA) + "," + getName(plan.scalingB);
  if (plan.fastAccumulation)
    text += " fast-accumulation";
  if (plan.beta != 0)
    text += " beta=" + std::to_string(plan.beta);
  return text;
}

bool mpt::rt::isPlainMatmul(const Instruction &call) {
  GemmPlan plan;
  PlainMatmul plain;
  std::string unused;
  return call.getCall<MatmulCall>() &&
         makeGemmPlan(call, /*allowTF32=*/false, plan, unused) &&
         plan.epilogue == GemmEpilogue::Default && plan.compute == GemmCompute::F32 &&
         makePlainMatmul(plan, plain);
}

bool mpt::rt::makePlainMatmul(const GemmPlan &plan, PlainMatmul &matmul) {
  const bool isScaled = plan.isScaled();
  auto isKnown = [](GemmScaling scaling) {
    return scaling == GemmScaling::Vec128F32 || scaling == GemmScaling::Block128F32 ||
           scaling == GemmScaling::Vec32UE8M0 || scaling == GemmScaling::Vec16UE4M3;
  };
  auto isNarrow = [](DataType type) {
    return type > DataType::F64 && type <= DataType::F8E5M2;
  };
  auto isOperand = [&](DataType type, GemmScaling scaling) {
    return scaling == GemmScaling::Vec16UE4M3 ? type == DataType::I8 : isNarrow(type);
  };
  if (!isOperand(plan.a.type, plan.scalingA) || !isOperand(plan.b.type, plan.scalingB) ||
      !isNarrow(plan.d.type) || isF8(plan.d.type) || plan.alpha != 1 ||
      (plan.beta != 0 && plan.beta != 1) ||
      (isScaled &&
       (plan.batch != 1 || !isKnown(plan.scalingA) || !isKnown(plan.scalingB))))
    return false;
  matmul = PlainMatmul();
  matmul.function = std::string("mpt_matmul_") + nameOfOperand(plan.a.type) + "_" +
                    nameOfOperand(plan.b.type) + "_" + nameOf(plan.d.type);
  if (isScaled)
    matmul.function +=
        std::string("_") + getName(plan.scalingA) + "_" + getName(plan.scalingB);
  const GemmMatrix &a = plan.a, &b = plan.b;
  const int64_t numbers[] = {plan.m,
                             plan.n,
                             plan.k,
                             plan.transposeA ? a.ld : 1,
                             plan.transposeA ? 1 : a.ld,
                             a.stride,
                             plan.transposeB ? b.ld : 1,
                             plan.transposeB ? 1 : b.ld,
                             b.stride,
                             plan.d.ld,
                             plan.d.stride,
                             plan.beta != 0};
  static_assert(std::size(numbers) == PlainMatmul::kNumbers);
  std::copy(std::begin(numbers), std::end(numbers), matmul.numbers);
  auto tiles = [](int64_t size) {
    return size / kPlainMatmulTile + (size % kPlainMatmulTile != 0);
  };
  // D is in memory, so its tiles can be counted.
  const int64_t perMatrix = tiles(plan.m) * tiles(plan.n);
  matmul.blocks = perMatrix * plan.batch;
  return perMatrix > 0 && plan.batch > 0 && perMatrix <= 0x7fffffff / plan.batch;
}
