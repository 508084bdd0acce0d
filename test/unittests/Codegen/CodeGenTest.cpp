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
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Object/ELFObjectFile.h"
#include "gtest/gtest.h"
#include <map>

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

/// Many kernels are compiled in several parts if there are threads, to the same
/// functions.
TEST_F(CodeGenTest, ObjectsInParts) {
  constexpr int64_t kernels = 40;
  std::string arguments, results, body, values, types;
  // Functions of equal code would be one: each adds a number of its own.
  for (int64_t i = 0; i < kernels; ++i) {
    const std::string comma = i ? ", " : "", n = std::to_string(i),
                      type = "tensor<" + std::to_string(100 + i) + "xf32>";
    arguments += comma + "%x" + n + ": " + type + " {mpt.name = \"x" + n +
                 "\", mpt.role = \"input\"}";
    results += comma + type + " {mpt.name = \"y" + n + "\"}";
    body += "%c" + n + " = mpt.constant dense<" + n + ".5> : " + type + "\n%a" + n +
            " = mpt.add %x" + n + ", %c" + n + " : (" + type + ", " + type + ") -> " +
            type + "\n%y" + n + " = mpt.exp %a" + n + " : (" + type + ") -> " + type +
            "\n";
    values += comma + "%y" + n;
    types += comma + type;
  }
  const std::string text = "func.func @f(" + arguments + ") -> (" + results + ") {\n" +
                           body + "return " + values + " : " + types + "\n}";
  // Functions and their sizes; the descriptor is in one object.
  auto getFunctions = [&](int64_t maxThreads, size_t &objects) {
    std::map<std::string, uint64_t> functions;
    auto module = parseSourceString<ModuleOp>(text, &context, "f.mlir");
    auto compiled = compileToObjects(*module, maxThreads);
    EXPECT_EQ(message(compiled.takeError()), "success");
    objects = compiled->size();
    int64_t descriptors = 0;
    for (const auto &buffer : *compiled) {
      auto object = llvm::cantFail(
          llvm::object::ObjectFile::createObjectFile(buffer->getMemBufferRef()));
      for (llvm::object::ELFSymbolRef symbol : object->symbols()) {
        if (llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined)
          continue;
        const std::string name = llvm::cantFail(symbol.getName()).str();
        const llvm::object::SymbolRef::Type type = llvm::cantFail(symbol.getType());
        descriptors += name == "mpt_program" && type == llvm::object::SymbolRef::ST_Data;
        if (type == llvm::object::SymbolRef::ST_Function)
          functions[name] = symbol.getSize();
      }
    }
    EXPECT_EQ(descriptors, 1);
    return functions;
  };
  size_t one, several;
  const auto whole = getFunctions(1, one), inParts = getFunctions(4, several);
  EXPECT_GE(whole.size(), static_cast<size_t>(kernels));
  EXPECT_EQ(whole, inParts);
  EXPECT_EQ(one, 1u);
  EXPECT_GT(several, 1u);
  auto module = parseSourceString<ModuleOp>(kFunction, &context, "f.mlir");
  auto small = compileToObjects(*module, 4);
  ASSERT_EQ(message(small.takeError()), "success");
  EXPECT_EQ(small->size(), 1u);
}

/// Which CPUs round to bf16 by an instruction, and that all round.
TEST_F(CodeGenTest, RoundingInstructions) {
  constexpr llvm::StringRef function = R"(
func.func @f(%x: tensor<4x64xf32> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<4x64xbf16> {mpt.name = "y"}) {
  %y = mpt.cast %x : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  return %y : tensor<4x64xbf16>
})";
  for (auto [cpu, has] : {std::pair("x86-64", false), std::pair("x86-64-v3", false),
                          std::pair("x86-64-v4", false), std::pair("cooperlake", true),
                          std::pair("sapphirerapids", true), std::pair("znver3", false),
                          std::pair("znver4", true), std::pair("znver5", true)}) {
    auto module = compile(function, cpu);
    ASSERT_EQ(message(module.takeError()), "success") << cpu;
    EXPECT_EQ((*module)->getFunction("llvm.x86.avx512bf16.cvtneps2bf16.512") != nullptr,
              has)
        << cpu;
    llvm::SmallVector<char> code;
    llvm::raw_svector_ostream os(code);
    llvm::legacy::PassManager passes;
    ASSERT_FALSE(machine->addPassesToEmitFile(passes, os, nullptr,
                                              llvm::CodeGenFileType::AssemblyFile));
    passes.run(**module);
    EXPECT_EQ(os.str().contains("vcvtneps2bf16"), has) << cpu;
    // No library rounds.
    EXPECT_FALSE(os.str().contains("__truncsfbf2")) << cpu;
  }
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
