//===- CodeGenTest.cpp - Programs as machine code ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CodeGen.h"
#include "../Host/TestHelpers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mpt/Dialect/MPT/IR/MPT.h"
#include "mpt/ProgramABI/ProgramFormat.h"
#include "llvm/IR/Constants.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;
using test::message;

namespace {

const char *const kFunction = R"(
func.func @f(%x: tensor<64xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<64xf32> {mpt.name = "y"}) {
  %y = mpt.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
})";

class CodeGenTest : public ::testing::Test {
protected:
  CodeGenTest() {
    context.loadDialect<func::FuncDialect, MPTDialect>();
    context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
      printed += diagnostic.str();
      return success();
    });
  }
  ~CodeGenTest() override { EXPECT_EQ(printed, ""); }

  llvm::Expected<std::unique_ptr<llvm::Module>>
  compile(llvm::StringRef text, llvm::StringRef cpu = "x86-64-v3") {
    machine = llvm::cantFail(createTargetMachine(cpu));
    auto module = parseSourceString<ModuleOp>(text, &context, "f.mlir");
    if (!module)
      return llvm::createStringError("cannot parse");
    return compileToLLVM(*module, llvmContext, *machine, 4);
  }

  MLIRContext context;
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string printed;
};

TEST_F(CodeGenTest, ExportsTheDescriptorAlone) {
  auto module = compile(kFunction);
  ASSERT_EQ(message(module.takeError()), "success");
  for (llvm::GlobalVariable &global : (*module)->globals())
    EXPECT_EQ(!global.hasLocalLinkage(), global.getName() == "mpt_program");
  for (llvm::Function &function : **module)
    EXPECT_TRUE(function.isDeclaration() || function.hasLocalLinkage());
  auto *desc = (*module)->getNamedGlobal("mpt_program");
  ASSERT_TRUE(desc && desc->hasInitializer());
  auto *magic =
      llvm::dyn_cast<llvm::ConstantInt>(desc->getInitializer()->getAggregateElement(0u));
  ASSERT_TRUE(magic);
  EXPECT_EQ(magic->getZExtValue(), rt::kProgramMagic);
}

TEST_F(CodeGenTest, UnknownCPU) {
  EXPECT_EQ(message(createTargetMachine("pdp11")),
            "unknown CPU 'pdp11'; use native or a name that clang's -mcpu takes");
  EXPECT_EQ(message(createTargetMachine("")),
            "unknown CPU ''; use native or a name that clang's -mcpu takes");
  EXPECT_EQ(message(createTargetMachine("x86-64")), "success");
  EXPECT_EQ(message(createTargetMachine("native")), "success");
}

TEST_F(CodeGenTest, WrongModules) {
  EXPECT_EQ(message(compile("module {}")),
            "f.mlir:1:1: mpt-assign-buffers: expected one function, found 0; name one "
            "with function=");
  // The passes before warn that the module is empty.
  EXPECT_NE(printed.find("mpt-decompose: found nothing to do: this module is empty"),
            std::string::npos)
      << printed;
  printed.clear();
  std::string two = std::string(kFunction) + std::string(kFunction);
  two.replace(two.rfind("@f"), 2, "@g");
  std::string error = message(compile(two));
  EXPECT_NE(error.find("expected one function, found 2"), std::string::npos) << error;
}

TEST_F(CodeGenTest, LibrariesThatCannotBeWritten) {
  test::TemporaryDirectory directory;
  auto module = compile(kFunction);
  ASSERT_EQ(message(module.takeError()), "success");
  std::string missing = directory.path("none/f.so");
  EXPECT_EQ(message(writeSharedLibrary(**module, *machine, missing)),
            missing + ": cannot write: No such file or directory");
  std::string library = directory.path("f.so");
  EXPECT_EQ(message(writeSharedLibrary(**module, *machine, library)), "success");
  EXPECT_TRUE(llvm::sys::fs::exists(library));
  EXPECT_FALSE(llvm::sys::fs::exists(library + ".tmp"));
}

} // namespace
