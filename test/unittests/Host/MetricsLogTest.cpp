//===- MetricsLogTest.cpp - JSON lines --------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/MetricsLog.h"
#include "TestHelpers.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"
#include <cmath>
#include <csignal>
#include <limits>
#include <sys/resource.h>

using namespace mpt;
using test::message;

namespace {

MetricsRecord step(int64_t number) {
  MetricsRecord record;
  record.add("step", number);
  return record;
}

TEST(MetricsRecordTest, ShortestNumbersThatReadBack) {
  auto format = [](ElementType type, double value) {
    return formatElement(HostTensor::scalar(type, value), 0);
  };
  EXPECT_EQ(format(ElementType::F32, 0.1), "0.1");
  EXPECT_EQ(format(ElementType::F64, 0.1), "0.1");
  EXPECT_EQ(format(ElementType::F32, 1.0 / 3), "0.33333334");
  EXPECT_EQ(format(ElementType::F64, 1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(format(ElementType::F16, 65504), "65504");
  EXPECT_EQ(format(ElementType::I32, -7), "-7");
  EXPECT_EQ(format(ElementType::I1, 1), "true");
  EXPECT_EQ(formatElement(HostTensor::scalarI64((int64_t(1) << 62) + 1), 0),
            "4611686018427387905");
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(format(ElementType::F32, std::nan("")), "\"NaN\"");
  EXPECT_EQ(format(ElementType::F32, infinity), "\"Infinity\"");
  EXPECT_EQ(format(ElementType::BF16, -infinity), "\"-Infinity\"");
}

TEST(MetricsRecordTest, IsOneJSONObject) {
  MetricsRecord record = step(3);
  record.add("loss", HostTensor::scalar(ElementType::F32, 0.5));
  record.add("milliseconds", 1.25);
  record.add("kind", llvm::StringRef("eval \"x\""));
  HostTensor table = llvm::cantFail(HostTensor::create(ElementType::I32, {2, 2, 1}));
  for (int i = 0; i < 4; ++i)
    table.setElement(i, i);
  record.add("table", table);
  EXPECT_EQ(record.getLine(),
            R"({"step": 3, "loss": 0.5, "milliseconds": 1.25, )"
            R"("kind": "eval \"x\"", "table": [[[0], [1]], [[2], [3]]]})");
  EXPECT_TRUE(bool(llvm::json::parse(record.getLine())));
}

class MetricsLogTest : public ::testing::Test {
protected:
  test::TemporaryDirectory directory;
  std::string path = directory.path("m.jsonl");
};

TEST_F(MetricsLogTest, EmptiesAndAppends) {
  test::writeBytes(path, "old\n");
  {
    MetricsLog log = llvm::cantFail(MetricsLog::open(path, false, 0));
    EXPECT_EQ(message(log.append(step(1))), "success");
    EXPECT_EQ(message(log.append(step(2))), "success");
  }
  EXPECT_EQ(test::readBytes(path), "{\"step\": 1}\n{\"step\": 2}\n");
}

TEST_F(MetricsLogTest, ResumingKeepsWhatTheCheckpointKnows) {
  auto resume = [&](llvm::StringRef before, int64_t keep) {
    test::writeBytes(path, before);
    {
      MetricsLog log = llvm::cantFail(MetricsLog::open(path, true, keep));
      llvm::cantFail(log.append(step(99)));
    }
    std::string after = test::readBytes(path);
    llvm::StringRef text(after);
    EXPECT_TRUE(text.consume_back("{\"step\": 99}\n"));
    return text.str();
  };
  std::string three = "{\"step\": 1}\n{\"step\": 2}\n{\"step\": 3}\n";
  EXPECT_EQ(resume(three, 3), three);
  EXPECT_EQ(resume(three, 1), "{\"step\": 1}\n");
  EXPECT_EQ(resume(three, 0), "");
  EXPECT_EQ(resume("", 5), "");
  // A killed run leaves half a line.
  EXPECT_EQ(resume("{\"step\": 1}\n{\"st", 5), "{\"step\": 1}\n");
  EXPECT_EQ(resume("{\"step\": 1}\nnonsense\n{\"step\": 2}\n", 5), "{\"step\": 1}\n");
  EXPECT_EQ(resume("{\"step\": 1}\n" + std::string(200000, '[') + "\n", 5),
            "{\"step\": 1}\n");
}

TEST_F(MetricsLogTest, ResumingWithoutAFileStartsOne) {
  MetricsLog log = llvm::cantFail(MetricsLog::open(path, true, 5));
  llvm::cantFail(log.append(step(6)));
  EXPECT_EQ(test::readBytes(path), "{\"step\": 6}\n");
}

TEST_F(MetricsLogTest, AFullDiskLeavesWholeLines) {
  MetricsLog log = llvm::cantFail(MetricsLog::open(path, false, 0));
  llvm::cantFail(log.append(step(1)));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 15;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string text = message(log.append(step(2)));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(text, path + ": cannot write: File too large");
  EXPECT_EQ(test::readBytes(path), "{\"step\": 1}\n");
  EXPECT_EQ(message(log.append(step(3))), "success");
  EXPECT_EQ(test::readBytes(path), "{\"step\": 1}\n{\"step\": 3}\n");
}

TEST_F(MetricsLogTest, Errors) {
  std::string missing = directory.path("none/m.jsonl");
  EXPECT_EQ(message(MetricsLog::open(missing, false, 0)),
            missing + ": cannot write: No such file or directory");
  EXPECT_EQ(message(MetricsLog::open(directory.path(), false, 0)),
            directory.path() + ": cannot write: Is a directory");
  MetricsLog log = llvm::cantFail(MetricsLog::open("/dev/full", false, 0));
  EXPECT_EQ(message(log.append(step(1))),
            "/dev/full: cannot write: No space left on device");
}

} // namespace
