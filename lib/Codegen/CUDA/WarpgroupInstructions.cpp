//===- WarpgroupInstructions.cpp - What sm_90a has alone -------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupInstructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::detail;

static constexpr StringLiteral kDynamicShared = "mpt_dynamic_shared";
static constexpr unsigned kShared = 3;

void WarpgroupInstructions::run(StringRef text, StringRef constraints,
                                ValueRange operands) {
  // What is in memory does not move across it.
  std::string all = constraints.str() + (constraints.empty() ? "" : ",") + "~{memory}";
  LLVM::InlineAsmOp::create(
      b, loc, TypeRange(), operands, text, all,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}

Index WarpgroupInstructions::shared() {
  auto device = b.getInsertionBlock()->getParentOp()->getParentOfType<gpu::GPUModuleOp>();
  auto global = device.lookupSymbol<LLVM::GlobalOp>(kDynamicShared);
  if (!global) {
    OpBuilder start = OpBuilder::atBlockBegin(&device.getBodyRegion().front());
    global = LLVM::GlobalOp::create(
        start, loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
        LLVM::Linkage::External, kDynamicShared, Attribute(), /*alignment=*/16, kShared);
  }
  Value address = LLVM::AddressOfOp::create(b, loc, global);
  Index first = {code, LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), address)};
  // The launch has 1024 bytes more.
  return (first + 1023) / 1024 * 1024;
}

Index WarpgroupInstructions::conceal(Index x, bool staysHere) {
  auto op = LLVM::InlineAsmOp::create(
      b, loc, TypeRange(code.indexType()), code.get(x), "", "=r,0",
      /*has_side_effects=*/staysHere, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  return {code, op.getRes()};
}

void WarpgroupInstructions::setRegisters(int64_t count, bool grows) {
  run("setmaxnreg." + std::string(grows ? "inc" : "dec") + ".sync.aligned.u32 " +
          std::to_string(count) + ";",
      "", {});
}

void WarpgroupInstructions::initBarrier(Index barrier, int64_t count) {
  run("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r",
      {code.get(barrier), code.get32(count)});
}

void WarpgroupInstructions::fenceBarriers() {
  run("fence.mbarrier_init.release.cluster;", "", {});
  run("fence.proxy.async.shared::cta;", "", {});
}

void WarpgroupInstructions::arrive(Index barrier) {
  run("mbarrier.arrive.shared::cta.b64 _, [$0];", "r", code.get(barrier));
}

void WarpgroupInstructions::arriveWithBytes(Index barrier, int64_t bytes) {
  run("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r",
      {code.get(barrier), code.get32(bytes)});
}

void WarpgroupInstructions::wait(Index barrier, Index parity) {
  run("{\n"
      ".reg .pred done;\n"
      "again${:uid}:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
      "@!done bra again${:uid};\n"
      "}",
      "r,r", {code.get(barrier), code.get(parity)});
}

void WarpgroupInstructions::prefetchMap(Value map) {
  run("prefetch.tensormap [$0];", "l", map);
}

void WarpgroupInstructions::startCopy(Value map, Index to, Index barrier,
                                      std::array<Index, 4> at) {
  SmallVector<Value> operands = {code.get(to), map};
  for (Index place : at)
    operands.push_back(code.get(place));
  operands.push_back(code.get(barrier));
  run("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[$0], [$1, {$2, $3, $4, $5}], [$6];",
      "r,l,r,r,r,r,r", operands);
}

void WarpgroupInstructions::fence() { run("wgmma.fence.sync.aligned;", "", {}); }

void WarpgroupInstructions::commit() { run("wgmma.commit_group.sync.aligned;", "", {}); }

void WarpgroupInstructions::waitForGroups(int64_t groups) {
  run("wgmma.wait_group.sync.aligned " + std::to_string(groups) + ";", "", {});
}

/// "=f,=f,..", and, of operands that are results, too, "0,1,..".
static std::string constrain(int64_t results, bool areOperands) {
  std::string text;
  for (int64_t i = 0; i < results; ++i)
    text += "=f,";
  for (int64_t i = 0; areOperands && i < results; ++i)
    text += std::to_string(i) + ",";
  return text;
}

static SmallVector<Value> createWithSums(OpBuilder &b, Location loc, StringRef text,
                                         const std::string &constraints, int64_t count,
                                         ValueRange operands) {
  SmallVector<Type> types(count, b.getF32Type());
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  auto op = LLVM::InlineAsmOp::create(
      b, loc, TypeRange(type), operands, text, constraints + "~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  SmallVector<Value> sums;
  for (int64_t i = 0; i < count; ++i)
    sums.push_back(LLVM::ExtractValueOp::create(b, loc, op.getRes(), i));
  return sums;
}

SmallVector<Value> WarpgroupInstructions::take(ValueRange sums) {
  const auto count = static_cast<int64_t>(sums.size());
  return createWithSums(b, loc, "// sums of wgmma", constrain(count, true), count, sums);
}

Value WarpgroupInstructions::describe(const PanelMatrix &matrix, bool isTransposed) {
  // Addresses, of 18 bits, and distances count 16 bytes. Eight rows are one after the
  // other; panels follow each other along the dimension that is not summed if that lies
  // in rows.
  const uint64_t leading = isTransposed ? matrix.panelBytes >> 4 : 1;
  const uint64_t stride = (8 * kPanelBytes) >> 4;
  const uint64_t swizzle128 = 1;
  const uint64_t fields = leading << 16 | stride << 32 | swizzle128 << 62;
  Value address =
      arith::AndIOp::create(b, loc, code.get(matrix.address), code.get32(0x3ffff));
  address = arith::ShRUIOp::create(b, loc, address, code.get32(4));
  address = arith::ExtUIOp::create(b, loc, b.getI64Type(), address);
  return arith::OrIOp::create(b, loc, address, code.get64(static_cast<int64_t>(fields)));
}

Value WarpgroupInstructions::advance(Value matrix, int64_t bytes) {
  if (bytes == 0)
    return matrix;
  // Only the address changes, in the lower word.
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value low = arith::TruncIOp::create(b, loc, i32, matrix);
  low = arith::AddIOp::create(b, loc, low, code.get32(bytes >> 4));
  Value high = arith::ShRUIOp::create(b, loc, matrix, code.get64(32));
  return arith::OrIOp::create(b, loc, arith::ExtUIOp::create(b, loc, i64, low),
                              arith::ShLIOp::create(b, loc, high, code.get64(32)));
}

SmallVector<Value> WarpgroupInstructions::multiply(Type type, int64_t columns,
                                                   ValueRange a, Value matrixB,
                                                   bool isTransposedB, ValueRange sums) {
  const int64_t count = columns / 2;
  const bool areAdded = !sums.empty();
  std::string name = type.isF16() ? "f16" : "bf16";
  // Operands that are results, too, are named once.
  int64_t next = areAdded ? 2 * count : count;
  auto number = [&] { return "$" + std::to_string(next++); };
  std::string list;
  for (int64_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(i);
  std::string matrixA = number();
  for (size_t i = 1; i < a.size(); ++i)
    matrixA += ", " + number();
  if (a.size() > 1)
    matrixA = "{" + matrixA + "}";
  // Of a matrix in shared memory it is said whether it is transposed.
  std::string transposed = a.size() > 1 ? "" : ", 0";
  transposed += isTransposedB ? ", 1" : ", 0";
  std::string text = "{\n.reg .pred adds;\nsetp.ne.b32 adds, ";
  text += areAdded ? "1" : "0";
  text += ", 0;\nwgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) +
          "k16.f32." + name + "." + name + " {" + list + "}, " + matrixA + ", " +
          number() + ", adds, 1, 1" + transposed + ";\n}";
  std::string constraints = constrain(count, areAdded);
  SmallVector<Value> operands(sums.begin(), sums.end());
  for (Value each : a) {
    operands.push_back(each);
    constraints += a.size() > 1 ? "r," : "l,";
  }
  operands.push_back(matrixB);
  constraints += "l,";
  // LLVM's order of constraints has those that repeat a result where operands are.
  return createWithSums(b, loc, text, constraints, count, operands);
}
