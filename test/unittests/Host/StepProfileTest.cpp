//===- StepProfileTest.cpp - Groups of a profile and what is printed ------===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StepProfile.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace mpt;

namespace {

StepProfile makeProfile() {
  StepProfile profile;
  profile.steps = 3;
  profile.entries = {{"matmul", "a:1", 2, 4e6, 1e6, "bf16"},
                     {"kernel", "a:2", 5, 0, 20e6, "f32"},
                     {"matmul", "a:2", 4, 8e6, 2e6, "f32"}};
  return profile;
}

MachineRates makeRates() {
  MachineRates rates;
  rates.flops = {{"bf16", 8e9}, {"f32", 4e9}};
  rates.bytes = 10e9;
  return rates;
}

TEST(StepProfile, Groups) {
  StepProfile profile = makeProfile();
  profile.rates = makeRates();
  std::vector<ProfileGroup> calls = groupByCall(profile);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].name, "matmul");
  EXPECT_EQ(calls[0].count, 2);
  EXPECT_EQ(calls[0].milliseconds, 6);
  EXPECT_EQ(calls[0].flops, 12e6);
  EXPECT_EQ(calls[0].bytes, 3e6);
  // 4e6 at 8e9 per second, and 8e6 at 4e9.
  EXPECT_DOUBLE_EQ(calls[0].bound, 0.5 + 2);
  EXPECT_EQ(calls[1].name, "kernel");
  EXPECT_DOUBLE_EQ(calls[1].bound, 2);

  std::vector<ProfileGroup> sources = groupBySource(profile);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].name, "a:2");
  EXPECT_EQ(sources[0].milliseconds, 9);
  EXPECT_EQ(sources[1].name, "a:1");
}

TEST(StepProfile, BoundIsTheLongerOfTwo) {
  MachineRates rates = makeRates();
  EXPECT_DOUBLE_EQ(rates.getBound({"matmul", "", 0, 8e6, 100e6, "bf16"}), 10);
  EXPECT_DOUBLE_EQ(rates.getBound({"matmul", "", 0, 800e6, 100e6, "bf16"}), 100);
  // A type without a rate of its own is computed in f32.
  EXPECT_DOUBLE_EQ(rates.getBound({"matmul", "", 0, 400e6, 0, "f8E5M2"}), 100);
}

TEST(StepProfile, Text) {
  StepProfile profile = makeProfile();
  std::string text;
  llvm::raw_string_ostream os(text);
  printProfile(os, "profile of f32", profile);
  EXPECT_EQ(text, "profile of f32: 11.000 ms a step, mean of 3\n"
                  "by call     ms     %  count  GFLOP/s  GB/s  of peak\n"
                  "matmul   6.000  54.5      2      2.0   0.5        -\n"
                  "kernel   5.000  45.5      1        -   4.0        -\n"
                  "by source     ms     %  count  GFLOP/s  GB/s  of peak\n"
                  "a:2        9.000  81.8      2      0.9   2.4        -\n"
                  "a:1        2.000  18.2      1      2.0   0.5        -\n");
  profile.rates = makeRates();
  text.clear();
  printProfile(os, "p", profile);
  EXPECT_NE(text.find("peak of this machine, measured now: bf16 8.0 GFLOP/s, "
                      "f32 4.0 GFLOP/s, a copy 10.0 GB/s\n"),
            std::string::npos);
  EXPECT_NE(text.find("matmul   6.000  54.5      2      2.0   0.5     42 %\n"),
            std::string::npos);
}

TEST(StepProfile, FewSourcesInTextAndAllInThePage) {
  StepProfile profile;
  profile.steps = 1;
  for (int i = 0; i < 25; ++i)
    profile.entries.push_back(
        {"kernel", "a:" + std::to_string(i), double(50 - i), 0, 0, "f32"});
  std::string text;
  llvm::raw_string_ostream os(text);
  printProfile(os, "p", profile);
  EXPECT_NE(text.find("a:19"), std::string::npos);
  EXPECT_EQ(text.find("a:20"), std::string::npos);
  // 30 + 29 + 28 + 27 + 26.
  EXPECT_NE(text.find("5 others   140.000"), std::string::npos);
  EXPECT_NE(renderProfilePage(profile, "<net>").find("a:24"), std::string::npos);
  EXPECT_NE(renderProfilePage(profile, "<net>").find("&lt;net&gt;"), std::string::npos);
}

TEST(StepProfile, JSON) {
  StepProfile profile = makeProfile();
  auto parse = [&] {
    llvm::Expected<llvm::json::Value> value =
        llvm::json::parse(printProfileJSON(profile));
    EXPECT_TRUE(bool(value));
    return *value->getAsObject();
  };
  llvm::json::Object without = parse();
  EXPECT_EQ(without.getInteger("steps"), 3);
  EXPECT_EQ(without.getNumber("ms"), 11);
  EXPECT_TRUE(without.getNull("rates"));
  ASSERT_EQ(without.getArray("instructions")->size(), 3u);
  EXPECT_EQ(without.getArray("instructions")->front().getAsObject()->getString("type"),
            "bf16");
  profile.rates = makeRates();
  llvm::json::Object with = parse();
  EXPECT_EQ(with.getObject("rates")->getNumber("bytes"), 10e9);
  EXPECT_EQ(with.getArray("calls")->front().getAsObject()->getNumber("bound_ms"), 2.5);
}

} // namespace
