//===- EmulatedKernels.cpp - Device kernels compiled for the CPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/EmulatedKernels.h"
#include "EmulatedPtx.h"
#include "mpt/Support/DiagnosticCapture.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/ReplaceConstant.h"

using namespace mpt;
using mpt::detail::EmulatedPtx;

namespace {

/// Rewrites a device module in place.
class Emulator {
public:
  explicit Emulator(llvm::Module &module)
      : module(module), context(module.getContext()),
        pointer(llvm::PointerType::get(context, 0)), i32(llvm::Type::getInt32Ty(context)),
        i64(llvm::Type::getInt64Ty(context)) {}

  llvm::Error run();

private:
  /// The function pointers of mpt_simt_ops, in its order.
  enum Op : unsigned {
    Thread,
    BlockX,
    BlockY,
    Shuffle,
    BlockBarrier,
    WarpBarrier,
    Ballot,
    LoadMatrices,
    Multiply,
    StartCopy,
    EndCopies,
    WaitForCopies,
    Shared,
    InitBarrier,
    FenceBarriers,
    Arrive,
    WaitBarrier,
    StartTile,
    MultiplyAsync,
    FenceRegisters,
    EndMultiplies,
    WaitForMultiplies,
    Take
  };

  llvm::Error replaceIntrinsic(llvm::Function &function);
  llvm::Value *loadMatrices(llvm::IRBuilder<> &b, llvm::CallInst &old);
  llvm::Value *multiply(llvm::IRBuilder<> &b, llvm::CallInst &old);
  llvm::Error replacePtx(llvm::Function &function);
  llvm::Value *replacePtx(llvm::IRBuilder<> &b, llvm::CallInst &old,
                          const EmulatedPtx &ptx);
  llvm::Value *multiplyAsync(llvm::IRBuilder<> &b, llvm::CallInst &old,
                             const EmulatedPtx &ptx);
  void replaceShared(llvm::GlobalVariable &global);
  void expandBF16(llvm::Function &function);
  llvm::Value *call(llvm::IRBuilder<> &b, Op op, llvm::ArrayRef<llvm::Value *> operands,
                    llvm::Type *result);
  llvm::Function *wrap(llvm::Function &kernel);
  void exportTable(llvm::ArrayRef<llvm::Function *> kernels);

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *pointer;
  llvm::Type *i32, *i64;
  llvm::GlobalVariable *ops = nullptr;
};

} // namespace

llvm::Value *Emulator::call(llvm::IRBuilder<> &b, Op op,
                            llvm::ArrayRef<llvm::Value *> operands, llvm::Type *result) {
  llvm::Value *table = b.CreateLoad(pointer, ops);
  llvm::Value *slot = b.CreateConstInBoundsGEP1_64(pointer, table, op);
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  return b.CreateCall(llvm::FunctionType::get(result, types, false),
                      b.CreateLoad(pointer, slot), operands);
}

/// `values` in a place on the stack of the calling function.
static llvm::AllocaInst *storeAll(llvm::IRBuilder<> &b,
                                  llvm::ArrayRef<llvm::Value *> values) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  auto *type = llvm::ArrayType::get(values.front()->getType(), values.size());
  llvm::AllocaInst *place = entry.CreateAlloca(type);
  for (auto [i, value] : llvm::enumerate(values))
    b.CreateStore(value, b.CreateConstInBoundsGEP2_32(type, place, 0, i));
  return place;
}

static llvm::Value *loadAll(llvm::IRBuilder<> &b, llvm::AllocaInst *place,
                            llvm::Type *result) {
  llvm::Type *type = place->getAllocatedType();
  llvm::Value *all = llvm::PoisonValue::get(result);
  for (unsigned i = 0; i < type->getArrayNumElements(); ++i) {
    llvm::Value *word = b.CreateLoad(type->getArrayElementType(),
                                     b.CreateConstInBoundsGEP2_32(type, place, 0, i));
    all = b.CreateInsertValue(all, word, i);
  }
  return all;
}

llvm::Value *Emulator::loadMatrices(llvm::IRBuilder<> &b, llvm::CallInst &old) {
  bool isTransposed = old.getIntrinsicID() ==
                      llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16;
  llvm::SmallVector<llvm::Value *> zeros(4, b.getInt32(0));
  llvm::AllocaInst *words = storeAll(b, zeros);
  llvm::Value *row = b.CreateAddrSpaceCast(old.getArgOperand(0), pointer);
  call(b, LoadMatrices, {row, b.getInt32(isTransposed), words},
       llvm::Type::getVoidTy(context));
  return loadAll(b, words, old.getType());
}

llvm::Value *Emulator::multiply(llvm::IRBuilder<> &b, llvm::CallInst &old) {
  bool isBF16 = old.getIntrinsicID() == llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
  llvm::SmallVector<llvm::Value *> operands, sums;
  for (unsigned i = 0; i < 6; ++i)
    operands.push_back(b.CreateBitCast(old.getArgOperand(i), i32));
  for (unsigned i = 6; i < 10; ++i)
    sums.push_back(old.getArgOperand(i));
  llvm::AllocaInst *place = storeAll(b, sums);
  call(b, Multiply, {storeAll(b, operands), b.getInt32(isBF16), place},
       llvm::Type::getVoidTy(context));
  return loadAll(b, place, old.getType());
}

/// cvt.rn.satfinite.e4m3x2.f32 of one number, in an i16, or .e5m2x2.
static llvm::Value *convertToEightBits(llvm::IRBuilder<> &b, llvm::Value *x,
                                       bool isE5M2) {
  auto select = [&](llvm::CmpInst::Predicate predicate, llvm::Value *left, uint32_t right,
                    llvm::Value *yes, llvm::Value *no) {
    return b.CreateSelect(b.CreateICmp(predicate, left, b.getInt32(right)), yes, no);
  };
  // Bits of the fraction that are dropped, and what exponents are less by.
  const uint32_t dropped = isE5M2 ? 21 : 20, bias = isE5M2 ? 112 << 2 : 120 << 3;
  // 57344, or 448; 2^-14, or 2^-6.
  const uint32_t largest = isE5M2 ? 0x47600000 : 0x43e00000;
  const uint32_t leastNormal = isE5M2 ? 0x38800000 : 0x3c800000;
  llvm::Value *bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value *sign = b.CreateAnd(b.CreateLShr(bits, 24), 0x80);
  llvm::Value *magnitude = b.CreateAnd(bits, 0x7fffffff);
  llvm::Value *kept =
      select(llvm::CmpInst::ICMP_UGT, magnitude, largest, b.getInt32(largest), magnitude);
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(kept, dropped), 1);
  llvm::Value *rounded =
      b.CreateAdd(b.CreateAdd(kept, odd), b.getInt32((1u << (dropped - 1)) - 1));
  llvm::Value *normal = b.CreateSub(b.CreateLShr(rounded, dropped), b.getInt32(bias));
  // Below the normal ones numbers are 2^-16 or 2^-9 apart, as those of f32 after 2^7 or
  // 2^14.
  const float from = isE5M2 ? 0x1p7f : 0x1p14f;
  llvm::Value *shifted = b.CreateFAdd(b.CreateBitCast(kept, x->getType()),
                                      llvm::ConstantFP::get(x->getType(), from));
  llvm::Value *subnormal = b.CreateSub(b.CreateBitCast(shifted, b.getInt32Ty()),
                                       b.getInt32(llvm::bit_cast<uint32_t>(from)));
  llvm::Value *code =
      select(llvm::CmpInst::ICMP_ULT, kept, leastNormal, subnormal, normal);
  code = select(llvm::CmpInst::ICMP_UGT, magnitude, 0x7f800000, b.getInt32(0x7f),
                b.CreateOr(code, sign));
  return b.CreateTrunc(code, b.getInt16Ty());
}

/// cvt.rn.f16x2.e4m3x2 of one number, in the low bits of an i32: the bits of an f16.
static llvm::Value *convertFromE4M3(llvm::IRBuilder<> &b, llvm::Value *byte) {
  llvm::Value *magnitude = b.CreateAnd(byte, 0x7f);
  // Below 2^-6 a number of 2^-9, by f32.
  llvm::Value *wide = b.CreateFMul(b.CreateUIToFP(magnitude, b.getFloatTy()),
                                   llvm::ConstantFP::get(b.getFloatTy(), 0x1p-9));
  llvm::Value *subnormal = b.CreateSub(
      b.CreateLShr(b.CreateBitCast(wide, b.getInt32Ty()), 13), b.getInt32(112 << 10));
  subnormal =
      b.CreateSelect(b.CreateICmpEQ(magnitude, b.getInt32(0)), b.getInt32(0), subnormal);
  llvm::Value *normal = b.CreateShl(b.CreateAdd(magnitude, b.getInt32(8 << 3)), 7);
  llvm::Value *bits =
      b.CreateSelect(b.CreateICmpULT(magnitude, b.getInt32(8)), subnormal, normal);
  bits = b.CreateSelect(b.CreateICmpEQ(magnitude, b.getInt32(0x7f)), b.getInt32(0x7fff),
                        bits);
  return b.CreateOr(bits, b.CreateShl(b.CreateAnd(byte, 0x80), 8));
}

llvm::Error Emulator::replaceIntrinsic(llvm::Function &function) {
  llvm::Type *none = llvm::Type::getVoidTy(context);
  for (llvm::User *user : llvm::make_early_inc_range(function.users())) {
    auto *old = llvm::dyn_cast<llvm::CallInst>(user);
    if (!old)
      return llvm::createStringError("cannot emulate a use of " + function.getName());
    llvm::IRBuilder<> b(old);
    llvm::Value *value = nullptr;
    switch (function.getIntrinsicID()) {
    case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x:
      value = call(b, Thread, {}, i32);
      break;
    case llvm::Intrinsic::nvvm_read_ptx_sreg_laneid:
      value = b.CreateURem(call(b, Thread, {}, i32), b.getInt32(32));
      break;
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
      value = call(b, BlockX, {}, i32);
      break;
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y:
      value = call(b, BlockY, {}, i32);
      break;
    case llvm::Intrinsic::nvvm_shfl_sync_bfly_i32:
    case llvm::Intrinsic::nvvm_shfl_sync_bfly_f32: {
      llvm::Type *type = old->getType();
      llvm::Value *word = b.CreateBitCast(old->getArgOperand(1), i32);
      value = call(b, Shuffle, {word, old->getArgOperand(2)}, i32);
      value = b.CreateBitCast(value, type);
      break;
    }
    case llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all:
      call(b, BlockBarrier, {}, none);
      break;
    case llvm::Intrinsic::nvvm_bar_warp_sync:
      call(b, WarpBarrier, {}, none);
      break;
    case llvm::Intrinsic::nvvm_vote_ballot_sync:
      value = call(b, Ballot, {b.CreateZExt(old->getArgOperand(1), i32)}, i32);
      break;
    case llvm::Intrinsic::nvvm_ex2_approx:
      value = b.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, old->getArgOperand(0));
      break;
    case llvm::Intrinsic::nvvm_ex2_approx_ftz: {
      // Subnormal results are 0. (A subnormal operand gives 1 in any case.)
      value = b.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, old->getArgOperand(0));
      auto *least = llvm::ConstantFP::get(value->getType(), 0x1p-126);
      value = b.CreateSelect(b.CreateFCmpOLT(value, least),
                             llvm::ConstantFP::get(value->getType(), 0.0), value);
      break;
    }
    case llvm::Intrinsic::nvvm_rcp_approx_ftz_f: {
      // Subnormal results are 0.
      llvm::Value *x = old->getArgOperand(0);
      value = b.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1.0), x);
      auto *least = llvm::ConstantFP::get(value->getType(), 0x1p-126);
      llvm::Value *magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
      value = b.CreateSelect(b.CreateFCmpOLT(magnitude, least),
                             llvm::ConstantFP::get(value->getType(), 0.0), value);
      break;
    }
    case llvm::Intrinsic::nvvm_ff_to_e4m3x2_rn:
    case llvm::Intrinsic::nvvm_ff_to_e5m2x2_rn: {
      const bool isE5M2 =
          function.getIntrinsicID() == llvm::Intrinsic::nvvm_ff_to_e5m2x2_rn;
      llvm::Value *high = convertToEightBits(b, old->getArgOperand(0), isE5M2);
      value = b.CreateOr(b.CreateShl(high, 8),
                         convertToEightBits(b, old->getArgOperand(1), isE5M2));
      break;
    }
    case llvm::Intrinsic::nvvm_e4m3x2_to_f16x2_rn: {
      llvm::Value *pair = b.CreateZExt(old->getArgOperand(0), i32);
      llvm::Value *high = convertFromE4M3(b, b.CreateLShr(pair, 8));
      value =
          b.CreateOr(convertFromE4M3(b, b.CreateAnd(pair, 0xff)), b.CreateShl(high, 16));
      value = b.CreateBitCast(value, old->getType());
      break;
    }
    case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16:
    case llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16:
      value = loadMatrices(b, *old);
      break;
    case llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16:
    case llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s: {
      llvm::Value *to = b.CreateAddrSpaceCast(old->getArgOperand(0), pointer);
      llvm::Value *from = b.CreateAddrSpaceCast(old->getArgOperand(1), pointer);
      llvm::Value *bytes = old->arg_size() > 2 ? old->getArgOperand(2) : b.getInt32(16);
      call(b, StartCopy, {to, from, bytes}, none);
      break;
    }
    case llvm::Intrinsic::nvvm_cp_async_commit_group:
      call(b, EndCopies, {}, none);
      break;
    case llvm::Intrinsic::nvvm_cp_async_wait_group:
      call(b, WaitForCopies, {old->getArgOperand(0)}, none);
      break;
    case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16:
    case llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32:
      value = multiply(b, *old);
      break;
    default:
      return llvm::createStringError("cannot emulate " + function.getName());
    }
    if (value)
      old->replaceAllUsesWith(value);
    old->eraseFromParent();
  }
  return llvm::Error::success();
}

llvm::Value *Emulator::multiplyAsync(llvm::IRBuilder<> &b, llvm::CallInst &old,
                                     const EmulatedPtx &ptx) {
  const unsigned count = ptx.number / 2, first = ptx.adds ? count : 0;
  llvm::SmallVector<llvm::Value *> sums, a;
  for (unsigned i = 0; i < count; ++i)
    sums.push_back(ptx.adds ? old.getArgOperand(i)
                            : llvm::ConstantFP::get(b.getFloatTy(), 0));
  llvm::Value *matrixA = b.getInt64(0), *words = llvm::ConstantPointerNull::get(pointer);
  if (ptx.isAInRegisters) {
    for (unsigned i = 0; i < 4; ++i)
      a.push_back(old.getArgOperand(first + i));
    words = storeAll(b, a);
  } else {
    matrixA = old.getArgOperand(first);
  }
  llvm::Value *what[] = {b.getInt64(ptx.number),
                         b.getInt64(ptx.isBF16),
                         b.getInt64(ptx.isAInRegisters),
                         b.getInt64(ptx.transposesA),
                         b.getInt64(ptx.transposesB),
                         b.getInt64(ptx.adds),
                         matrixA,
                         old.getArgOperand(old.arg_size() - 1)};
  llvm::AllocaInst *place = storeAll(b, sums);
  call(b, MultiplyAsync, {storeAll(b, what), words, place},
       llvm::Type::getVoidTy(context));
  return loadAll(b, place, old.getType());
}

llvm::Value *Emulator::replacePtx(llvm::IRBuilder<> &b, llvm::CallInst &old,
                                  const EmulatedPtx &ptx) {
  llvm::Type *none = llvm::Type::getVoidTy(context);
  auto operand = [&](unsigned i) { return old.getArgOperand(i); };
  switch (ptx.kind) {
  case EmulatedPtx::Nothing:
    return nullptr;
  case EmulatedPtx::InitBarrier:
    return call(b, InitBarrier, {operand(0), operand(1)}, none);
  case EmulatedPtx::FenceBarriers:
    return call(b, FenceBarriers, {}, none);
  case EmulatedPtx::Arrive:
    return call(b, Arrive, {operand(0), b.getInt32(0)}, none);
  case EmulatedPtx::ArriveWithBytes:
    return call(b, Arrive, {operand(0), operand(1)}, none);
  case EmulatedPtx::WaitBarrier:
    return call(b, WaitBarrier, {operand(0), operand(1)}, none);
  case EmulatedPtx::StartTile: {
    llvm::Value *at[] = {operand(2), operand(3), operand(4), operand(5)};
    return call(b, StartTile, {operand(0), operand(1), storeAll(b, at), operand(6)},
                none);
  }
  case EmulatedPtx::Multiply:
    return multiplyAsync(b, old, ptx);
  case EmulatedPtx::FenceRegisters:
    return call(b, FenceRegisters, {}, none);
  case EmulatedPtx::EndMultiplies:
    return call(b, EndMultiplies, {}, none);
  case EmulatedPtx::WaitForMultiplies:
    return call(b, WaitForMultiplies, {b.getInt32(ptx.number)}, none);
  case EmulatedPtx::Take:
    break;
  }
  llvm::Value *all = llvm::PoisonValue::get(old.getType());
  for (unsigned i = 0; i < old.arg_size(); ++i)
    all = b.CreateInsertValue(all, call(b, Take, {operand(i)}, b.getFloatTy()), i);
  return all;
}

llvm::Error Emulator::replacePtx(llvm::Function &function) {
  for (llvm::Instruction &instruction :
       llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *old = llvm::dyn_cast<llvm::CallInst>(&instruction);
    auto *code = old ? llvm::dyn_cast<llvm::InlineAsm>(old->getCalledOperand()) : nullptr;
    // What is empty the CPU does as well.
    if (!code || code->getAsmString().empty())
      continue;
    std::optional<EmulatedPtx> ptx = detail::parseEmulatedPtx(code->getAsmString());
    if (!ptx)
      return llvm::createStringError("cannot emulate " + code->getAsmString());
    llvm::IRBuilder<> b(old);
    llvm::Value *value = replacePtx(b, *old, *ptx);
    if (!old->getType()->isVoidTy())
      old->replaceAllUsesWith(value);
    old->eraseFromParent();
  }
  return llvm::Error::success();
}

/// Dynamic shared memory, which is a global of no known size.
void Emulator::replaceShared(llvm::GlobalVariable &global) {
  llvm::convertUsersOfConstantsToInstructions({&global});
  for (llvm::Use &use : llvm::make_early_inc_range(global.uses())) {
    auto *user = llvm::cast<llvm::Instruction>(use.getUser());
    llvm::IRBuilder<> b(user);
    use.set(b.CreateAddrSpaceCast(call(b, Shared, {}, pointer), global.getType()));
  }
  global.eraseFromParent();
}

/// The larger or smaller of two bf16 or f16, by way of f32.
static void expandExtreme(llvm::IntrinsicInst &extreme) {
  llvm::Type *type = extreme.getType();
  const llvm::Intrinsic::ID id = extreme.getIntrinsicID();
  if ((id != llvm::Intrinsic::maximum && id != llvm::Intrinsic::minimum) ||
      type->getScalarSizeInBits() != 16)
    return;
  llvm::IRBuilder<> b(&extreme);
  llvm::Type *wide = type->getWithNewType(b.getFloatTy());
  const bool isBF16 = type->getScalarType()->isBFloatTy();
  auto widen = [&](llvm::Value *x) {
    if (!isBF16)
      return b.CreateFPExt(x, wide);
    llvm::Type *i32 = type->getWithNewType(b.getInt32Ty());
    x = b.CreateZExt(b.CreateBitCast(x, type->getWithNewType(b.getInt16Ty())), i32);
    return b.CreateBitCast(b.CreateShl(x, llvm::ConstantInt::get(i32, 16)), wide);
  };
  llvm::Value *value = b.CreateBinaryIntrinsic(id, widen(extreme.getArgOperand(0)),
                                               widen(extreme.getArgOperand(1)));
  if (isBF16) {
    llvm::Type *i32 = type->getWithNewType(b.getInt32Ty());
    value = b.CreateLShr(b.CreateBitCast(value, i32), llvm::ConstantInt::get(i32, 16));
    value =
        b.CreateBitCast(b.CreateTrunc(value, type->getWithNewType(b.getInt16Ty())), type);
  } else {
    value = b.CreateFPTrunc(value, type);
  }
  extreme.replaceAllUsesWith(value);
  extreme.eraseFromParent();
}

/// Conversions of bf16 in integers: on processors without that type LLVM calls a
/// library for them that may not be there.
void Emulator::expandBF16(llvm::Function &function) {
  for (llvm::Instruction &instruction :
       llvm::make_early_inc_range(llvm::instructions(function))) {
    if (auto *extreme = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
      expandExtreme(*extreme);
      continue;
    }
    auto *cast = llvm::dyn_cast<llvm::CastInst>(&instruction);
    if (!cast)
      continue;
    bool isExtension = cast->getOpcode() == llvm::Instruction::FPExt &&
                       cast->getSrcTy()->getScalarType()->isBFloatTy();
    bool isTruncation = cast->getOpcode() == llvm::Instruction::FPTrunc &&
                        cast->getDestTy()->getScalarType()->isBFloatTy() &&
                        cast->getSrcTy()->getScalarType()->isFloatTy();
    if (!isExtension && !isTruncation)
      continue;
    llvm::IRBuilder<> b(cast);
    auto typed = [&](llvm::Type *element) {
      auto *vector = llvm::dyn_cast<llvm::VectorType>(cast->getSrcTy());
      return vector ? llvm::VectorType::get(element, vector->getElementCount()) : element;
    };
    auto number = [&](uint32_t n) { return llvm::ConstantInt::get(typed(i32), n); };
    llvm::Value *x = cast->getOperand(0), *result;
    if (isExtension) {
      result = b.CreateZExt(b.CreateBitCast(x, typed(b.getInt16Ty())), typed(i32));
      result = b.CreateBitCast(b.CreateShl(result, number(16)), typed(b.getFloatTy()));
      if (cast->getDestTy() != result->getType())
        result = b.CreateFPExt(result, cast->getDestTy());
    } else {
      llvm::Value *bits = b.CreateBitCast(x, typed(i32));
      llvm::Value *high = b.CreateLShr(bits, number(16));
      // To nearest, ties to even; a NaN stays one.
      llvm::Value *sum =
          b.CreateAdd(b.CreateAdd(bits, number(0x7fff)), b.CreateAnd(high, number(1)));
      result = b.CreateSelect(b.CreateFCmpUNO(x, x), b.CreateOr(high, number(0x40)),
                              b.CreateLShr(sum, number(16)));
      result = b.CreateBitCast(b.CreateTrunc(result, typed(b.getInt16Ty())),
                               cast->getDestTy());
    }
    cast->replaceAllUsesWith(result);
    cast->eraseFromParent();
  }
}

/// void(void **arguments) around `kernel`.
llvm::Function *Emulator::wrap(llvm::Function &kernel) {
  llvm::Type *none = llvm::Type::getVoidTy(context);
  auto *wrapper = llvm::Function::Create(llvm::FunctionType::get(none, {pointer}, false),
                                         llvm::GlobalValue::InternalLinkage,
                                         kernel.getName() + ".run", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", wrapper));
  llvm::SmallVector<llvm::Value *> arguments;
  for (auto [i, type] : llvm::enumerate(kernel.getFunctionType()->params())) {
    llvm::Value *slot = b.CreateConstInBoundsGEP1_64(pointer, wrapper->getArg(0), i);
    llvm::Value *place = b.CreateLoad(pointer, slot);
    arguments.push_back(kernel.getArg(i)->hasByValAttr() ? place
                                                         : b.CreateLoad(type, place));
  }
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
  return wrapper;
}

void Emulator::exportTable(llvm::ArrayRef<llvm::Function *> kernels) {
  auto *entryType = llvm::StructType::get(context, {pointer, pointer, i64, i64, i64});
  llvm::SmallVector<llvm::Constant *> entries;
  for (llvm::Function *kernel : kernels) {
    auto *text = llvm::ConstantDataArray::getString(context, kernel->getName());
    auto *name = new llvm::GlobalVariable(module, text->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::InternalLinkage, text);
    llvm::Function *wrapper = wrap(*kernel);
    auto numbers = llvm::count_if(kernel->args(), [](const llvm::Argument &argument) {
      return argument.getType()->isIntegerTy();
    });
    auto maps = llvm::count_if(kernel->args(), [](const llvm::Argument &argument) {
      return argument.hasByValAttr();
    });
    // They stay where the launch has them.
    for (llvm::Argument &argument : kernel->args())
      argument.removeAttr(llvm::Attribute::ByVal);
    entries.push_back(llvm::ConstantStruct::get(
        entryType,
        {name, wrapper, llvm::ConstantInt::get(i64, kernel->arg_size()),
         llvm::ConstantInt::get(i64, numbers), llvm::ConstantInt::get(i64, maps)}));
  }
  auto *tableType = llvm::ArrayType::get(entryType, entries.size());
  auto *table = new llvm::GlobalVariable(
      module, tableType, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::ConstantArray::get(tableType, entries), "mpt_simt_kernels");
  auto *moduleType = llvm::StructType::get(context, {pointer, pointer, i64});
  auto *exported = llvm::ConstantStruct::get(
      moduleType, {ops, table, llvm::ConstantInt::get(i64, entries.size())});
  new llvm::GlobalVariable(module, moduleType, /*isConstant=*/false,
                           llvm::GlobalValue::ExternalLinkage, exported,
                           "mpt_simt_module");
}

llvm::Error Emulator::run() {
  ops = new llvm::GlobalVariable(module, pointer, /*isConstant=*/false,
                                 llvm::GlobalValue::InternalLinkage,
                                 llvm::ConstantPointerNull::get(pointer), "mpt_simt_ops");
  llvm::SmallVector<llvm::Function *> kernels;
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    llvm::StringRef name = function.getName();
    if (!function.isDeclaration()) {
      kernels.push_back(&function);
      function.setCallingConv(llvm::CallingConv::C);
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.removeFnAttr("nvvm.maxntid");
      function.removeFnAttr("nvvm.minctasm");
      expandBF16(function);
      if (llvm::Error error = replacePtx(function))
        return error;
    } else if (name.consume_front("__nv_")) {
      function.setName(name);
    } else if (name.starts_with("llvm.nvvm.")) {
      if (llvm::Error error = replaceIntrinsic(function))
        return error;
      function.eraseFromParent();
    }
  }
  for (llvm::GlobalVariable &global : llvm::make_early_inc_range(module.globals()))
    if (global.isDeclaration())
      replaceShared(global);
  exportTable(kernels);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::Module>>
mpt::emulateKernels(mlir::gpu::GPUModuleOp device, llvm::LLVMContext &context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  device.getContext()->appendDialectRegistry(registry);
  DiagnosticCapture error(device.getContext());
  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(device, context, "mpt_simt");
  if (!module)
    return error.take("the kernels could not be translated to LLVM IR");
  if (llvm::Error failure = Emulator(*module).run())
    return std::move(failure);
  return module;
}
