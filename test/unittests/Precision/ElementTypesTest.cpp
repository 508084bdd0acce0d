//===- ElementTypesTest.cpp - Floats inside types that dialects spell -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/ElementTypes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mpt;

namespace {

struct Types : ::testing::Test {
  Types() { context.allowUnregisteredDialects(); }
  Type parse(StringRef text) { return parseType(text, &context); }
  Type half(StringRef text) {
    return ElementTypes::clone(parse(text), Float16Type::get(&context));
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  ElementTypes types;
};

TEST_F(Types, ListsCountAsWhatTheyHold) {
  Type list = parse("tensor<2x!tf_type.variant<tensor<?x3xf32>>>");
  EXPECT_TRUE(types.isF32(list));
  EXPECT_TRUE(types.isList(list));
  EXPECT_EQ(types.getNumElements(list), 0u);
  EXPECT_EQ(half("tensor<2x!tf_type.variant<tensor<?x3xf32>>>"),
            parse("tensor<2x!tf_type.variant<tensor<?x3xf16>>>"));
  EXPECT_EQ(half("tensor<!tf_type.variant<tensor<*xf32>>>"),
            parse("tensor<!tf_type.variant<tensor<*xf16>>>"));
}

TEST_F(Types, OtherHandlesAreNoLists) {
  for (StringRef text :
       {"tensor<!tf_type.variant<tensor<3xi32>>>",
        "tensor<!tf_type.variant<tensor<3xf32>, tensor<3xf32>>>",
        "tensor<!tf_type.variant<tensor<!tf_type.variant<tensor<3xf32>>>>>",
        "tensor<!tf_type.resource<tensor<3xf32>>>", "tensor<!tf_type.variants>",
        "tensor<!tf_type.variant<f32>>"}) {
    Type type = parse(text);
    ASSERT_TRUE(type) << text.str();
    EXPECT_FALSE(types.getFloat(type)) << text.str();
    EXPECT_FALSE(types.isList(type)) << text.str();
    EXPECT_FALSE(types.isOpenList(type)) << text.str();
    EXPECT_FALSE(half(text)) << text.str();
  }
}

TEST_F(Types, AHandleMaySayNothing) {
  Type type = parse("tensor<!tf_type.variant>");
  EXPECT_TRUE(types.isOpenList(type));
  EXPECT_FALSE(types.isList(type));
  EXPECT_FALSE(types.getFloat(type));
  EXPECT_FALSE(half("tensor<!tf_type.variant>"));
}

TEST_F(Types, AListMayBeOfADialectsTensors) {
  for (auto [text, low] :
       {std::pair<StringRef, StringRef>("!torch.list<vtensor<[2,3],f32>>",
                                        "!torch.list<vtensor<[2,3],f16>>"),
        {"!torch.list<optional<tensor<[?],f32>>>",
         "!torch.list<optional<tensor<[?],f16>>>"}}) {
    Type type = parse(text);
    EXPECT_TRUE(types.isF32(type)) << text.str();
    EXPECT_TRUE(types.isList(type)) << text.str();
    EXPECT_EQ(types.getNumElements(type), 0u);
    EXPECT_EQ(half(text), parse(low));
  }
  Type untyped = parse("!torch.list<vtensor>");
  EXPECT_TRUE(types.isUntypedList(untyped));
  EXPECT_FALSE(types.getFloat(untyped));
  EXPECT_EQ(half("!torch.list<vtensor>"), untyped);
  for (StringRef text :
       {"!torch.list<list<vtensor<[2],f32>>>", "!torch.list<optional<vtensor>>",
        "!torch.list<tuple<vtensor<[2],f32>, int>>"}) {
    EXPECT_TRUE(types.isOpenList(parse(text))) << text.str();
    EXPECT_FALSE(half(text)) << text.str();
  }
  for (StringRef text : {"!torch.list<int>", "!torch.list<vtensor<[2],si64>>",
                         "!torch.optional<vtensor<[2],f32>>"}) {
    Type type = parse(text);
    EXPECT_FALSE(types.isList(type) || types.isUntypedList(type) ||
                 types.isOpenList(type))
        << text.str();
    EXPECT_FALSE(types.getFloat(type)) << text.str();
  }
  EXPECT_TRUE(ElementTypes::isUntypedTensor(parse("!torch.vtensor")));
  EXPECT_FALSE(ElementTypes::isUntypedTensor(parse("!torch.vtensor<[2],f32>")));
}

} // namespace
