//===- ProgramCallsTest.cpp - Library calls as ops and as structs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/IR/Program.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

class ProgramCalls : public testing::Test {
protected:
  ProgramCalls() : builder(&context) {
    context.loadDialect<MPTDialect, program::ProgramDialect, memref::MemRefDialect>();
    block = std::make_unique<Block>();
    builder.setInsertionPointToStart(block.get());
  }
  SmallVector<Value> buffers(unsigned count) {
    SmallVector<Value> made;
    for (unsigned i = 0; i < count; ++i)
      made.push_back(block->addArgument(MemRefType::get({4}, builder.getF32Type()),
                                        builder.getUnknownLoc()));
    return made;
  }
  program::LibraryCallOpInterface create(const rt::LibraryCall &call, Value workspace) {
    return program::createCall(builder, builder.getUnknownLoc(), call,
                               buffers(rt::getNumInputs(call)),
                               buffers(rt::getNumOutputs(call)), workspace);
  }

  MLIRContext context;
  OpBuilder builder;
  std::unique_ptr<Block> block;
};

/// All fields as text.
std::string describe(const rt::LibraryCall &call) {
  std::string text = rt::getName(call);
  auto add = [&](auto number) { text += " " + std::to_string(number); };
  auto describeField = rt::Overloaded{
      [&](double value) { add(value); },
      [&](const std::optional<int64_t> &value) { value ? add(*value) : add(-99); },
      [&](const auto &value) {
        using Field = std::decay_t<decltype(value)>;
        if constexpr (std::is_integral_v<Field> || std::is_enum_v<Field>)
          add(static_cast<int64_t>(value));
        else
          for (int64_t one : value)
            add(one);
      }};
  std::visit(
      [&](const auto &one) {
        one.forEachField(one, [&](const char *name, const auto &field) {
          text += std::string(" ") + name;
          describeField(field);
        });
      },
      call);
  return text;
}

/// Gives every field another value than its default.
void change(rt::LibraryCall &call) {
  int64_t number = 3;
  auto changeField =
      rt::Overloaded{[](bool &field) { field = !field; },
                     [](rt::Epilogue &field) { field = rt::Epilogue::Gelu; },
                     [](rt::F32Matmuls &field) { field = rt::F32Matmuls::BF16x9; },
                     [](rt::Rounding &field) { field = rt::Rounding::BF16; },
                     [](rt::ReduceKind &field) { field = rt::ReduceKind::Prod; },
                     [](rt::SumOrder &field) { field = rt::SumOrder::Library; },
                     [](rt::GemmScaling &field) { field = rt::GemmScaling::Vec128F32; },
                     [](rt::ScaleRule &field) {
                       field = field == rt::ScaleRule::OcpMX ? rt::ScaleRule::Largest
                                                             : rt::ScaleRule::OcpMX;
                     },
                     [&](std::optional<int64_t> &field) { field = ++number; },
                     [&](std::vector<int64_t> &field) { field = {++number, -7}; },
                     [&](double &field) { field = ++number / 2.0; },
                     [&](int64_t &field) { field = ++number; },
                     [&](auto &field) {
                       for (int64_t &value : field)
                         value = ++number;
                     }};
  std::visit(
      [&](auto &one) {
        one.forEachField(one, [&](const char *, auto &field) { changeField(field); });
      },
      call);
}

TEST_F(ProgramCalls, StructsComeBackFromOps) {
  unsigned found = 0;
  for (uint32_t id = 0; id < 1000; ++id) {
    std::optional<rt::LibraryCall> call = rt::createCall(id);
    if (!call)
      continue;
    ++found;
    EXPECT_EQ(static_cast<uint32_t>(rt::getId(*call)), id);
    for (bool isChanged : {false, true}) {
      if (isChanged)
        change(*call);
      program::LibraryCallOpInterface op = create(*call, Value());
      EXPECT_EQ(op->getName().getStringRef().str(),
                std::string("mpt_program.") + rt::getName(*call));
      EXPECT_EQ(describe(op.getCall()), describe(*call));
      EXPECT_EQ(op.getInputs().size(), rt::getNumInputs(*call));
      EXPECT_EQ(op.getOutputs().size(), rt::getNumOutputs(*call));
    }
  }
  EXPECT_EQ(found, std::variant_size_v<rt::LibraryCall>);
}

/// Inputs are read, outputs and the workspace are written, and nothing else happens.
TEST_F(ProgramCalls, Effects) {
  for (uint32_t id = 0; id < 1000; ++id) {
    std::optional<rt::LibraryCall> call = rt::createCall(id);
    if (!call)
      continue;
    change(*call);
    SCOPED_TRACE(rt::getName(*call));
    Value workspace = buffers(1).front();
    program::LibraryCallOpInterface op = create(*call, workspace);
    EXPECT_EQ(op.getCallWorkspace(), workspace);
    llvm::SmallDenseSet<Value> read, written;
    SmallVector<MemoryEffects::EffectInstance> effects;
    cast<MemoryEffectOpInterface>(op.getOperation()).getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      ASSERT_TRUE(effect.getValue());
      ASSERT_TRUE((isa<MemoryEffects::Read, MemoryEffects::Write>(effect.getEffect())));
      (isa<MemoryEffects::Read>(effect.getEffect()) ? read : written)
          .insert(effect.getValue());
    }
    EXPECT_EQ(read.size(), op.getInputs().size());
    for (Value input : op.getInputs())
      EXPECT_TRUE(read.contains(input));
    EXPECT_EQ(written.size(), op.getOutputs().size() + 1);
    for (Value output : op.getOutputs())
      EXPECT_TRUE(written.contains(output));
    EXPECT_TRUE(written.contains(workspace));
    auto style = cast<DestinationStyleOpInterface>(op.getOperation());
    EXPECT_EQ(static_cast<size_t>(style.getNumDpsInits()), op.getOutputs().size());
    EXPECT_TRUE(llvm::equal(style.getDpsInits(), op.getOutputs()));
    op.getCallWorkspaceMutable().clear();
    EXPECT_FALSE(op.getCallWorkspace());
    EXPECT_EQ(op.getOutputs().size(), rt::getNumOutputs(*call));
  }
}

} // namespace
