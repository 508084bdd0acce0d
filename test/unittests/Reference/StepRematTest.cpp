//===- StepRematTest.cpp - Same bits with and without remat -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gradients and whole training steps of the examples, with dropout behind every
/// activation, are equal bit for bit with and without rematerialization: within a
/// budget, with checkpoint marks, and with what is repeated before fusion.
///
//===----------------------------------------------------------------------===//

#include "ExampleNetworks.h"
#include "mlir/AsmParser/AsmParser.h"

using namespace mpt;
using namespace mpt::test;

namespace {

/// What is done to a step, beside its precision.
struct Way {
  const char *budget;
  /// Marks all activations and what they are made of as "never" to be kept.
  bool marks;
};

const Way plain = {"", false}, marked = {"", true}, within = {"0.8x", false},
          both = {"min", true};

class StepRematTest : public ExampleNetworkTest {
protected:
  void check(const Network &network, const char *precision, bool trains,
             std::initializer_list<Way> ways);
};

bool isActivation(Operation &op) {
  if (auto linear = dyn_cast<LinearOp>(op))
    return linear.getEpilogue() != Epilogue::None;
  if (auto conv = dyn_cast<Conv2DOp>(op))
    return conv.getEpilogue() != Epilogue::None;
  return isa<GeluOp>(op);
}

/// Adds dropout with streams of its own behind each activation.
void addDropout(func::FuncOp function) {
  OpBuilder builder(function);
  auto type = RankedTensorType::get({}, builder.getI64Type());
  for (llvm::StringRef name : {"seed", "attempt"}) {
    auto attributes = cast<DictionaryAttr>(
        parseAttribute("{mpt.name = \"" + name.str() +
                           "\", mpt.role = \"rng\", mpt.init = {kind = \"zeros\"}}",
                       function.getContext()));
    ASSERT_TRUE(succeeded(function.insertArgument(function.getNumArguments(), type,
                                                  attributes, function.getLoc())));
  }
  unsigned count = function.getNumArguments();
  Value seed = function.getArgument(count - 2), attempt = function.getArgument(count - 1);
  int64_t stream = 0;
  for (Operation &op : llvm::make_early_inc_range(function.getOps())) {
    if (!isActivation(op))
      continue;
    builder.setInsertionPointAfter(&op);
    Value x = op.getResult(0);
    auto mask = cast<RankedTensorType>(x.getType()).clone(builder.getI1Type());
    auto dropout = DropoutOp::create(builder, op.getLoc(), x.getType(), mask, x, seed,
                                     attempt, builder.getF64FloatAttr(0.1),
                                     builder.getI64IntegerAttr(++stream));
    x.replaceAllUsesExcept(dropout.getY(), dropout);
  }
  ASSERT_GT(stream, 1);
}

/// As a checkpoint region around each activation would, and dropout behind it.
void markActivations(func::FuncOp function) {
  for (Operation &op : function.getOps())
    if (isActivation(op) || isa<DropoutOp>(op))
      op.setAttr("mpt.save", StringAttr::get(op.getContext(), "never"));
}

void StepRematTest::check(const Network &network, const char *precision, bool trains,
                          std::initializer_list<Way> ways) {
  std::string passes;
  bool isNarrow = llvm::StringRef(precision) != "f32";
  if (trains)
    passes += ",mpt-train-step{function=loss optimizer=adamw clip-norm=1}";
  if (trains && isNarrow)
    passes += ",mpt-master-weights";
  if (isNarrow)
    passes += std::string(",mpt-autocast{type=") + precision + "}";
  Results want;
  size_t plainBytes = 0;
  auto compile = [&](Way way) -> std::unique_ptr<RuntimeEngine> {
    auto module = load(network, passes, [&](func::FuncOp function) {
      addDropout(function);
      if (way.marks)
        markActivations(function);
    });
    if (!module)
      return nullptr;
    llvm::StringRef budget = way.budget;
    if (!budget.empty())
      module->lookupSymbol<func::FuncOp>("loss")->setAttr(
          "mpt.memory_budget", StringAttr::get(&context, budget));
    JITOptions options;
    options.threads = 2;
    auto engine = createJITEngine(std::move(module), "loss", options);
    if (!engine) {
      ADD_FAILURE() << llvm::toString(engine.takeError());
      return nullptr;
    }
    return std::move(*engine);
  };
  for (Way way : ways) {
    SCOPED_TRACE(std::string(network.file) + " " + precision + " budget " + way.budget +
                 (way.marks ? " marked" : ""));
    llvm::StringRef budget = way.budget;
    std::unique_ptr<RuntimeEngine> engine = compile(way);
    ASSERT_TRUE(engine);
    size_t bytes = engine->arenaBytes();
    Results got = run(network, std::move(engine), trains ? 3 : 1);
    ASSERT_GT(got.size(), 8u);
    if (want.empty()) {
      want = std::move(got);
      plainBytes = bytes;
      continue;
    }
    // What digits needs at its peak is one op's, so its least is what it takes anyway.
    if (budget == "min")
      EXPECT_LE(bytes, plainBytes);
    else if (budget == within.budget) {
      // Of what the step takes with nothing repeated, which without a budget it may not.
      std::unique_ptr<RuntimeEngine> whole = compile({"1x", way.marks});
      ASSERT_TRUE(whole);
      EXPECT_LT(bytes, whole->arenaBytes());
    }
    ASSERT_EQ(got.size(), want.size());
    for (auto &entry : want) {
      HostTensor &mine = got[entry.first()];
      ASSERT_EQ(mine.getByteSize(), entry.second.getByteSize());
      EXPECT_EQ(std::memcmp(mine.getData(), entry.second.getData(), mine.getByteSize()),
                0)
          << entry.first().str();
    }
  }
}

TEST_F(StepRematTest, SinCos) {
  for (const char *precision : {"f32", "bf16", "f16"}) {
    check(kSinCos, precision, /*trains=*/false, {plain, marked, within});
    check(kSinCos, precision, /*trains=*/true, {plain, both});
  }
}
TEST_F(StepRematTest, Digits) {
  for (const char *precision : {"f32", "bf16", "f16"}) {
    check(kDigits, precision, /*trains=*/false, {plain, marked, both});
    check(kDigits, precision, /*trains=*/true, {plain, both});
  }
}
TEST_F(StepRematTest, GPTF32) {
  check(kGPT, "f32", /*trains=*/false, {plain, within});
  check(kGPT, "f32", /*trains=*/true, {plain, marked, within});
}
TEST_F(StepRematTest, GPTBF16) {
  check(kGPT, "bf16", /*trains=*/false, {plain, within});
  check(kGPT, "bf16", /*trains=*/true, {plain, marked, within});
}
TEST_F(StepRematTest, GPTF16) {
  check(kGPT, "f16", /*trains=*/false, {plain, within});
  check(kGPT, "f16", /*trains=*/true, {plain, marked, within});
}

} // namespace
