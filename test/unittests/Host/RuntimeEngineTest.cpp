//===- RuntimeEngineTest.cpp - Compiled programs as engines -----*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/RuntimeEngine.h"
#include "TestHelpers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mpt/Codegen/CodeGen.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/ProgramABI/ProgramFile.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;
using test::message;

namespace {

/// w += x and k stays; k has a first value.
const char *const kStep = R"(
func.func @step(
    %w: tensor<2xbf16> {mpt.name = "w", mpt.role = "parameter"},
    %low: tensor<2xi16> {mpt.name = "low", mpt.role = "optimizer_state"},
    %k: tensor<f32> {mpt.name = "k", mpt.role = "schedule",
                     mpt.init = {kind = "constant", value = 0.5 : f64}},
    %x: tensor<2xbf16> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<2xbf16> {mpt.name = "y"},
        tensor<2xbf16> {mpt.name = "w", mpt.updates = "w"}) {
  %next = mpt.add %w, %x : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  return %x, %next : tensor<2xbf16>, tensor<2xbf16>
})";

class RuntimeEngineTest : public ::testing::Test {
protected:
  /// Opens the step with this metadata; with none if `metadata` is null.
  llvm::Expected<std::unique_ptr<RuntimeEngine>> open(const char *metadata) {
    MLIRContext context;
    context.loadDialect<func::FuncDialect, MPTDialect>();
    auto module = parseSourceString<ModuleOp>(kStep, &context, "step.mlir");
    auto machine = llvm::cantFail(createTargetMachine("x86-64-v3"));
    llvm::LLVMContext llvmContext;
    auto compiled = compileToLLVM(*module, llvmContext, *machine, 2);
    if (!compiled)
      return compiled.takeError();
    if (metadata) {
      auto *text = llvm::ConstantDataArray::getString(llvmContext, metadata);
      new llvm::GlobalVariable(**compiled, text->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::ExternalLinkage, text,
                               rt::kProgramMetadata);
    }
    if (llvm::Error error = writeSharedLibrary(**compiled, *machine, path))
      return std::move(error);
    return RuntimeEngine::open(path, RuntimeOptions());
  }
  std::string error(const char *metadata) {
    std::string text = message(open(metadata));
    return llvm::StringRef(text).starts_with(path + ": ") ? text.substr(path.size() + 2)
                                                          : "no path: " + text;
  }

  test::TemporaryDirectory directory;
  std::string path = directory.path("step.so");
};

TEST_F(RuntimeEngineTest, Metadata) {
  auto engine = open(nullptr);
  ASSERT_EQ(message(engine.takeError()), "success");
  EXPECT_EQ((*engine)->getDigest(), "");
  EXPECT_TRUE((*engine)->isStep());
  EXPECT_FALSE((*engine)->isCuda());
  EXPECT_FALSE((*engine)->getArguments()[0].hasMaster);

  engine = open(R"({"step": "00ff", "is_step": false, "masters": ["w"],
                    "low_of": {"low": "w"}, "later": [1]})");
  ASSERT_EQ(message(engine.takeError()), "success");
  EXPECT_EQ((*engine)->getDigest(), "00ff");
  EXPECT_FALSE((*engine)->isStep());
  ASSERT_EQ((*engine)->getArguments().size(), 4u);
  EXPECT_TRUE((*engine)->getArguments()[0].hasMaster);
  EXPECT_EQ((*engine)->getArguments()[1].lowOf, "w");

  const std::string begin = "the program's metadata cannot be read: ",
                    end = "; compile the step again";
  EXPECT_EQ(error("[]"), begin + "expected an object" + end);
  EXPECT_EQ(error("{\"masters\": [1]}").rfind(begin, 0), 0u);
  EXPECT_EQ(error("{\"masters\": [\"v\"]}"),
            begin + "'masters' names something that is not a tensor of the program" +
                end);
  for (const char *halves :
       {"{\"low_of\": {\"low\": \"k\"}}", "{\"low_of\": {\"k\": \"w\"}}",
        "{\"low_of\": {\"low\": 3}}"})
    EXPECT_EQ(error(halves), begin + "'low_of' does not name halves of one tensor" + end);
  EXPECT_EQ(error("{").rfind(begin, 0), 0u);
  EXPECT_EQ(error(std::string(100, '[').c_str()), begin + "nested too deeply" + end);
}

TEST_F(RuntimeEngineTest, FirstValues) {
  auto opened = open(nullptr);
  ASSERT_EQ(message(opened.takeError()), "success");
  RuntimeEngine &engine = **opened;
  auto check = [&](llvm::StringRef name) { return message(engine.checkHasValue(name)); };
  EXPECT_TRUE(llvm::cantFail(engine.initialize(0)));
  EXPECT_EQ(check("k"), "success");
  EXPECT_EQ(check("low"), "success");
  EXPECT_EQ(check("x"), "there is no state named 'x'");
  EXPECT_EQ(check("w"),
            "'w' (parameter, bf16[2]) has no first value in " + path +
                ": give one in a file with --init; a checkpoint of mpt-run has "
                "them all");
  EXPECT_EQ(engine.readState("k")->getElement(0), 0.5);
  HostTensor one = llvm::cantFail(HostTensor::create(ElementType::BF16, {2}));
  one.setElement(0, 1);
  ASSERT_EQ(message(engine.writeState("w", one)), "success");
  EXPECT_EQ(check("w"), "success");

  // Bound memory is read at each run.
  ASSERT_EQ(message(engine.bind("x", one.getData(), one.getByteSize())), "success");
  ASSERT_EQ(message(engine.runBound()), "success");
  one.setElement(1, 3);
  ASSERT_EQ(message(engine.runBound()), "success");
  EXPECT_EQ(engine.readState("w")->getElement(0), 3);
  EXPECT_EQ(engine.readState("w")->getElement(1), 3);
  // What the program holds begins again; what the host wrote stays.
  HostTensor k = llvm::cantFail(engine.readState("k"));
  k.setElement(0, 7);
  ASSERT_EQ(message(engine.writeState("k", k)), "success");
  EXPECT_TRUE(llvm::cantFail(engine.initialize(0)));
  EXPECT_EQ(engine.readState("k")->getElement(0), 0.5);
  EXPECT_EQ(engine.readState("w")->getElement(1), 3);
}

} // namespace
