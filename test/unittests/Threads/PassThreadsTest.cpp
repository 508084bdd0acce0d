//===- PassThreadsTest.cpp - Passes on many modules at once -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MPT's passes run on modules. They run in several threads if a module holds modules,
/// and if a program has several contexts. Here autocast and what plans as it does do
/// both, on the modules of the tests, and must make what they make in one thread.
///
/// Built with the thread sanitizer, this reports races in MPT's code. LLVM's libraries
/// are not instrumented: what they read and write themselves is not seen, while locks
/// are, since pthread's functions are intercepted wherever they are called from. Locks
/// that libMLIR makes and publishes by atomics look unpublished, so that reports about a
/// lock itself are suppressed.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/Precision/ExternalModels/ExternalModels.h"
#include "mpt/Precision/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ThreadPool.h"
#include "gtest/gtest.h"
#include <chrono>
#include <filesystem>
#include <thread>

using namespace mlir;
using namespace mpt;

#if __has_feature(thread_sanitizer)
extern "C" const char *__tsan_default_suppressions() { return "race_top:pthread_\n"; }
static constexpr bool hasThreadSanitizer = true;
#else
static constexpr bool hasThreadSanitizer = false;
#endif

/// More than there are cores, so that they interrupt one another anywhere.
static constexpr unsigned kThreads = 4;

namespace {

/// Adds to a counter that all threads share, without a lock.
struct RacyPass : PassWrapper<RacyPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RacyPass)
  static inline int64_t numModules = 0;
  StringRef getArgument() const override { return "test-racy"; }
  void runOnOperation() override {
    ++numModules;
    // The other threads get to it before this one is back for the next module, for
    // which it takes a lock.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

const DialectRegistry &getRegistry() {
  static const DialectRegistry *registry = [] {
    auto *made = new DialectRegistry;
    made->insert<MPTDialect, arith::ArithDialect, func::FuncDialect,
                 linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                 tensor::TensorDialect, tosa::TosaDialect, vector::VectorDialect>();
    registerPrecisionExternalModels(*made);
    registerMPTPrecisionPasses();
    PassRegistration<RacyPass>();
    return made;
  }();
  return *registry;
}

/// The files in a folder of the tests whose names begin with `prefix`.
std::vector<std::string> readTests(StringRef folder, StringRef prefix) {
  std::vector<std::string> paths, texts;
  for (const auto &entry :
       std::filesystem::directory_iterator(std::string(MPT_TESTS_DIR "/") + folder.str()))
    if (std::string name = entry.path().filename();
        StringRef(name).starts_with(prefix) && StringRef(name).ends_with(".mlir"))
      paths.push_back(entry.path());
  llvm::sort(paths);
  for (const std::string &path : paths)
    texts.push_back((*llvm::MemoryBuffer::getFile(path))->getBuffer().str());
  return texts;
}

class Runner {
public:
  explicit Runner(unsigned threads)
      : context(getRegistry(), MLIRContext::Threading::DISABLED) {
    context.allowUnregisteredDialects();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      llvm::raw_string_ostream(messages)
          << diagnostic.getLocation() << ": " << diagnostic << "\n";
      for (Diagnostic &note : diagnostic.getNotes())
        llvm::raw_string_ostream(messages) << "  " << note << "\n";
    });
    if (threads > 1) {
      pool.emplace(llvm::hardware_concurrency(threads));
      context.setThreadPool(*pool);
    }
  }

  /// A module that holds `texts`, as often as `copies` says; those that are no modules
  /// of their own are left out.
  OwningOpRef<ModuleOp> nest(ArrayRef<std::string> texts, unsigned copies) {
    OwningOpRef<ModuleOp> outer = ModuleOp::create(UnknownLoc::get(&context));
    ParserConfig config(&context);
    for (const std::string &text : texts)
      if (OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config))
        for (unsigned i = 0; i < copies; ++i)
          outer->push_back(module->clone());
    return outer;
  }

  /// What the passes make of each module in `module`, and what they say of it.
  std::string run(StringRef passes, ModuleOp module) {
    PassManager pm(&context);
    if (failed(parsePassPipeline(passes, pm.nest<ModuleOp>())))
      return "the pipeline does not parse";
    messages.clear();
    std::string text = succeeded(pm.run(module)) ? "" : "failed\n";
    llvm::raw_string_ostream(text) << module << messages;
    return text;
  }

  MLIRContext context;

private:
  /// Of the context's handler, which runs in one thread at a time.
  std::string messages;
  std::optional<llvm::DefaultThreadPool> pool;
};

/// Of `texts`, those that `passes` take.
std::vector<std::string> select(ArrayRef<std::string> texts, StringRef passes) {
  std::vector<std::string> selected;
  for (const std::string &text : texts) {
    Runner runner(1);
    OwningOpRef<ModuleOp> module = runner.nest(text, 1);
    if (!module->getBody()->empty() &&
        !StringRef(runner.run(passes, *module)).starts_with("failed"))
      selected.push_back(text);
  }
  return selected;
}

class PassThreadsTest : public testing::Test {
protected:
  /// Holds what threads make to what one thread makes.
  void compare(ArrayRef<std::string> all, StringRef passes) {
    std::vector<std::string> texts = select(all, passes);
    ASSERT_GE(texts.size(), 5u) << passes.str();
    auto run = [&](unsigned threads) {
      Runner runner(threads);
      OwningOpRef<ModuleOp> module = runner.nest(texts, 4);
      return runner.run(passes, *module);
    };
    std::string expected = run(1);
    EXPECT_EQ(run(kThreads), expected);
    // A context for each thread.
    std::vector<std::string> made(kThreads);
    std::vector<std::thread> threads;
    for (std::string &text : made)
      threads.emplace_back([&text, &run] { text = run(1); });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::string &text : made)
      EXPECT_EQ(text, expected);
  }
};

TEST_F(PassThreadsTest, Autocast) {
  std::vector<std::string> modules = readTests("Precision", "autocast");
  for (StringRef options :
       {"type=f16 explain=.*", "type=bf16 strategy=paint", "policy=tf-fp16",
        "policy=torch-cuda specialize-calls=true", "policy=apex-O1 target=sm_90"})
    compare(modules, ("mpt-autocast{" + options + "}").str());
}

TEST_F(PassThreadsTest, PlansAndChecks) {
  std::vector<std::string> modules = readTests("Precision", "autocast");
  compare(modules, "mpt-annotate-precision,mpt-autocast{type=f16},"
                   "mpt-validate-precision{type=f16}");
}

/// What one thread keeps to itself, here the errors of a parser, it does not take from
/// another one.
TEST_F(PassThreadsTest, RemarksNextToHandlers) {
  std::string lists = "func.func @lists() {\n",
              sums = "func.func @sums(%x: tensor<4xf32>) {\n";
  for (int i = 1; i <= 400; ++i) {
    std::string type = "tensor<!tf_type.variant<tensor<" + std::to_string(i) + "xf32>>>";
    lists += "\"tf.EmptyTensorList\"() : () -> " + type + "\n";
    sums +=
        "\"stablehlo.add\"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n";
  }
  std::vector<std::string> texts = {lists + "return\n}", sums + "return\n}"};
  auto run = [&](unsigned threads) {
    Runner runner(threads);
    OwningOpRef<ModuleOp> module = runner.nest(texts, kThreads);
    return runner.run("mpt-autocast{type=f16 explain=stablehlo}", *module);
  };
  std::string expected = run(1);
  ASSERT_GE(StringRef(expected).count("'stablehlo.add' "), 400u * kThreads);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(run(kThreads), expected);
}

TEST(ThreadSanitizerTest, FindsARaceInAPass) {
  if (!hasThreadSanitizer)
    GTEST_SKIP() << "built without the thread sanitizer";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Runner runner(kThreads);
        OwningOpRef<ModuleOp> module = runner.nest({"module {}"}, 64);
        runner.run("test-racy", *module);
        // As the sanitizer ends, whose report is what is looked for.
        llvm::errs() << RacyPass::numModules << " modules\n";
        std::exit(66);
      },
      "data race");
}

} // namespace
