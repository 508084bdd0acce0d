//===- RankGroupTest.cpp - What ranks agree on ------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/RankGroup.h"
#include "TestHelpers.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mpt;
using test::message;

namespace {

/// One of several ranks, with the texts that the others bring.
class FakeRanks : public RankGroup {
public:
  FakeRanks(int64_t rank, std::vector<std::string> texts)
      : rank(rank), texts(std::move(texts)) {}

  int64_t getRank() const override { return rank; }
  int64_t getNumRanks() const override { return texts.size(); }
  std::string getHost(int64_t other) const override { return other < 2 ? "a" : "b"; }
  void setDeadline(double) override {}
  llvm::Expected<std::vector<std::string>> gather(llvm::StringRef text) override {
    if (isLost)
      return llvm::createStringError("rank 1 (on a) has not answered");
    texts[rank] = text.str();
    return texts;
  }
  llvm::Error gatherNumber(uint64_t number, uint64_t *all) override {
    auto gathered = gather(std::to_string(number));
    if (!gathered)
      return gathered.takeError();
    for (const std::string &text : *gathered)
      *all++ = std::stoull(text);
    return llvm::Error::success();
  }
  bool hasFailed() const override { return isLost; }
  void abort(int status) override { std::_Exit(status); }
  mpt_rt_communicator *getCommunicator() const override { return nullptr; }

  bool isLost = false;

private:
  int64_t rank;
  std::vector<std::string> texts;
};

TEST(RankGroupTest, ErrorsAreSaidOnce) {
  auto agree = [](int64_t rank, std::vector<std::string> others, llvm::Error own) {
    return message(FakeRanks(rank, std::move(others)).agree(std::move(own)));
  };
  EXPECT_EQ(agree(0, {"", "", ""}, llvm::Error::success()), "success");
  // The same on all ranks, whichever reads it.
  for (int64_t rank : {0, 1, 2})
    EXPECT_EQ(agree(rank, {"no file", "no file", "no file"},
                    llvm::createStringError("no file")),
              "no file");
  EXPECT_EQ(agree(0, {"", "", "no memory"}, llvm::Error::success()),
            "rank 2 (on b): no memory");
  EXPECT_EQ(agree(2, {"", "", ""}, llvm::createStringError("no memory")),
            "rank 2 (on b): no memory");
  EXPECT_EQ(agree(0, {"", "no memory", "no file"}, llvm::createStringError("no file")),
            "no file; rank 1 (on a): no memory");
}

TEST(RankGroupTest, DifferencesAreNamed) {
  auto check = [](std::vector<std::string> texts) {
    const std::string own = texts[0];
    return message(FakeRanks(0, std::move(texts)).checkSame("command line", own));
  };
  EXPECT_EQ(check({"a\nb", "a\nb", "a\nb"}), "success");
  EXPECT_EQ(check({"a\nb", "a\nb", "a\nc\nd"}),
            "all ranks need the same command line: expected 'b' as on rank 0 (on a), "
            "found 'c' on rank 2 (on b)");
  EXPECT_EQ(check({"a\nb", "a", "c"}),
            "all ranks need the same command line: expected 'b' as on rank 0 (on a), "
            "found nothing on rank 1 (on a)");
}

TEST(RankGroupTest, SignalsAndLostRanks) {
  EXPECT_FALSE(FakeRanks(0, {"", "0", "0"}).isAnywhere(false));
  EXPECT_TRUE(FakeRanks(0, {"", "0", "1"}).isAnywhere(false));
  EXPECT_TRUE(FakeRanks(0, {"", "0", "0"}).isAnywhere(true));
  EXPECT_EQ(FakeRanks(1, {"", "", ""}).countNeighbors(), 2);
  EXPECT_EQ(FakeRanks(2, {"", "", ""}).countNeighbors(), 1);
  FakeRanks lost(0, {"", ""});
  lost.isLost = true;
  EXPECT_FALSE(lost.isAnywhere(true));
  EXPECT_EQ(message(lost.agree(llvm::createStringError("no file"))),
            "rank 1 (on a) has not answered");
}

} // namespace
