//===- StepMemoryTest.cpp - Reports of memory against runs ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What mpt-memory-report says of the examples' steps is what the runtime asks the C
/// library for, to the byte, beside the numbers of kernels that share a function; and a
/// step computes the same bits in every order of its ops.
///
//===----------------------------------------------------------------------===//

#include "ExampleNetworks.h"
#include "mpt/Dialect/Program/IR/Program.h"
#include "mpt/Memory/MemoryReport.h"
#include "llvm/Support/FileSystem.h"
#include <atomic>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

namespace {
constexpr int maxCounted = 1 << 16;
std::atomic<bool> counting{false};
std::atomic<int> counted{0};
/// Sizes of aligned blocks, and of mapped ones from 8 MiB on, which are larger than what
/// a compiler maps for code: what the runtime takes for tensors.
size_t alignedSizes[maxCounted];

void count(size_t bytes) {
  if (counting)
    if (int at = counted++; at < maxCounted)
      alignedSizes[at] = bytes;
}
} // namespace

#ifndef HAS_ASAN
extern "C" {
void *__libc_memalign(size_t, size_t);
void *aligned_alloc(size_t alignment, size_t bytes) {
  if (alignment == 64)
    count(bytes);
  return __libc_memalign(alignment, bytes);
}
void *mmap(void *address, size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  if (bytes >= size_t(8) << 20)
    count(bytes);
  return reinterpret_cast<void *>(
      ::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
}
#endif

using namespace mpt;
using namespace mpt::test;

namespace {

class StepMemoryTest : public ExampleNetworkTest {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("memory", "json", path));
  }
  void TearDown() override { llvm::sys::fs::remove(path); }

  /// The report of the step in `order`.
  MemoryReport report(const Network &network, const std::string &passes,
                      const std::string &order) {
    auto module =
        load(network, passes +
                          ",mpt-memory-report{function=loss format=json "
                          "output=" +
                          path.str().str() + " order=" + order + " max-threads=2}");
    EXPECT_TRUE(module);
    auto buffer = llvm::MemoryBuffer::getFile(path);
    EXPECT_TRUE(bool(buffer));
    auto reports = readMemoryJSON((*buffer)->getBuffer());
    if (!reports || reports->size() != 1) {
      ADD_FAILURE() << llvm::toString(reports.takeError());
      return {};
    }
    return std::move(reports->front());
  }

  /// Bytes of the constants of the planned step in `module`.
  static int64_t countConstants(ModuleOp module) {
    std::map<int64_t, int64_t> constants;
    module.walk([&](program::BufferOp buffer) {
      if (auto value = buffer.getValueAttr())
        constants[static_cast<int64_t>(buffer.getOffset())] = llvm::alignTo(
            value.getNumElements() *
                llvm::divideCeil(value.getElementType().getIntOrFloatBitWidth(), 8),
            64);
    });
    int64_t total = 0;
    for (auto [number, bytes] : constants)
      total += bytes;
    return total;
  }

  void runPasses(ModuleOp module, llvm::StringRef pipeline) {
    PassManager manager(&context);
    EXPECT_TRUE(succeeded(parsePassPipeline(pipeline, manager)) &&
                succeeded(manager.run(module)));
  }

  /// Holds the reports of `orders` to runs, and their results to each other.
  void check(const Network &network, const std::string &precision,
             std::initializer_list<const char *> orders);

  llvm::SmallString<128> path;
};

void StepMemoryTest::check(const Network &network, const std::string &precision,
                           std::initializer_list<const char *> orders) {
  std::string passes = ",mpt-train-step{function=loss optimizer=adamw clip-norm=1}";
  if (precision != "f32")
    passes += ",mpt-master-weights,mpt-autocast{type=" + precision + "}";
  Results first;
  int64_t least = std::numeric_limits<int64_t>::max(), best = -1;
  for (const char *order : orders) {
    SCOPED_TRACE(std::string(network.file) + " " + precision + " " + order);
    MemoryReport planned = report(network, passes, order);
    EXPECT_EQ(planned.grain, "kernels");
    EXPECT_GE(planned.arena, planned.peak);
    EXPECT_GT(planned.peak, 0);
    if (llvm::StringRef(order) == "best")
      best = planned.arena;
    least = std::min(least, planned.arena);

    auto module = load(network, passes);
    ASSERT_TRUE(module);
    module->lookupSymbol<func::FuncOp>("loss")->setAttr("mpt.memory_order",
                                                        StringAttr::get(&context, order));
    OwningOpRef<ModuleOp> lowered = module->clone();
    runPasses(*lowered, "mpt-plan-step{max-threads=2}");
    EXPECT_EQ(countConstants(*lowered), planned.constants);
    runPasses(*lowered, "mpt-convert-kernels-to-vector,mpt-share-kernels");
    const int64_t constants = countConstants(*lowered);
    JITOptions options;
    options.threads = 2;
    counted = 0;
    counting = true;
    auto engine = createJITEngine(std::move(module), "loss", options);
    counting = false;
    ASSERT_TRUE(bool(engine)) << llvm::toString(engine.takeError());
    EXPECT_EQ((*engine)->arenaBytes(), size_t(planned.arena));
    EXPECT_EQ((*engine)->stateBytes(), size_t(planned.state));
#ifndef HAS_ASAN
    ASSERT_LE(counted, maxCounted);
    llvm::ArrayRef<size_t> sizes(alignedSizes, counted);
    for (int64_t bytes : {planned.arena, planned.state, planned.results})
      EXPECT_TRUE(llvm::is_contained(sizes, size_t(bytes))) << bytes;
    int64_t total = 0;
    for (size_t bytes : sizes)
      total += bytes;
    EXPECT_EQ(total, planned.arena + planned.state + planned.results + constants);
#endif

    Results results = run(network, std::move(engine));
    ASSERT_GT(results.size(), 8u);
    if (first.empty()) {
      first = std::move(results);
      continue;
    }
    ASSERT_EQ(results.size(), first.size());
    for (auto &entry : first) {
      HostTensor &got = results[entry.first()];
      ASSERT_EQ(got.getByteSize(), entry.second.getByteSize());
      EXPECT_EQ(std::memcmp(got.getData(), entry.second.getData(), got.getByteSize()), 0)
          << entry.first().str();
    }
  }
  EXPECT_EQ(best, least);
}

TEST_F(StepMemoryTest, SinCos) {
  for (const char *precision : {"f32", "bf16", "f16"})
    check(kSinCos, precision,
          {"keep", "early-update", "least-peak", "depth-first", "best"});
}
TEST_F(StepMemoryTest, Digits) {
  for (const char *precision : {"f32", "bf16", "f16"})
    check(kDigits, precision,
          {"keep", "early-update", "least-peak", "depth-first", "best"});
}
TEST_F(StepMemoryTest, GPTF32) { check(kGPT, "f32", {"keep", "best"}); }
TEST_F(StepMemoryTest, GPTBF16) {
  check(kGPT, "bf16", {"keep", "early-update", "least-peak", "depth-first", "best"});
}
TEST_F(StepMemoryTest, GPTF16) { check(kGPT, "f16", {"keep", "best"}); }

} // namespace
