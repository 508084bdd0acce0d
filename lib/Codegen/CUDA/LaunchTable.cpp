//===- LaunchTable.cpp - Which blocks of a launch do what -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mpt::detail;

/// Address spaces of NVPTX. Constant memory holds 64 KiB of a module's; compilers put
/// literals there, too.
static constexpr unsigned kGlobal = 1, kConstant = 4;
static constexpr int64_t kConstantBytes = 48 << 10;

/// Bytes of the tables in constant memory beside which `module` adds another.
static int64_t countConstantBytes(OpBuilder &module) {
  int64_t bytes = 0;
  for (auto other : module.getBlock()->getOps<LLVM::GlobalOp>())
    if (auto type = dyn_cast<LLVM::LLVMArrayType>(other.getGlobalType());
        type && other.getAddrSpace() == kConstant)
      bytes += 8 * static_cast<int64_t>(type.getNumElements());
  return bytes;
}

static Value constant32(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

LaunchTable::LaunchTable(OpBuilder &module, Location loc, StringRef function,
                         ArrayRef<int64_t> rows, int64_t width)
    : loc(loc), width(width), size(static_cast<int64_t>(rows.size()) / width) {
  Type i64 = module.getI64Type();
  auto count = static_cast<int64_t>(rows.size());
  const int64_t bytes = count * 8 + countConstantBytes(module);
  unsigned space = bytes <= kConstantBytes ? kConstant : kGlobal;
  global = LLVM::GlobalOp::create(
      module, loc, LLVM::LLVMArrayType::get(i64, count), /*isConstant=*/true,
      LLVM::Linkage::Internal, (function + "_table").str(),
      DenseElementsAttr::get(RankedTensorType::get({count}, i64), rows),
      /*alignment=*/16, space);
}

Value LaunchTable::readOf(OpBuilder &b, Value row, int64_t field) {
  Value at = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, row, constant32(b, loc, width)),
      constant32(b, loc, field));
  Value place = LLVM::GEPOp::create(b, loc, base.getType(), b.getI64Type(), base,
                                    ArrayRef<LLVM::GEPArg>{at});
  return LLVM::LoadOp::create(b, loc, b.getI64Type(), place);
}

Value LaunchTable::find(OpBuilder &b, Value block) {
  base = LLVM::AddressOfOp::create(b, loc, global);
  member = constant32(b, loc, 0);
  for (int64_t step = llvm::bit_floor<uint64_t>(size); step > 0; step /= 2) {
    Value next = arith::AddIOp::create(b, loc, member, constant32(b, loc, step));
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, next,
                                         constant32(b, loc, size));
    Value place = arith::MinUIOp::create(b, loc, next, constant32(b, loc, size - 1));
    Value first = arith::TruncIOp::create(b, loc, b.getI32Type(), readOf(b, place, 0));
    Value begins = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, first, block);
    member = arith::SelectOp::create(
        b, loc, arith::AndIOp::create(b, loc, exists, begins), next, member);
  }
  return member;
}

Value LaunchTable::read(OpBuilder &b, int64_t field) { return readOf(b, member, field); }
