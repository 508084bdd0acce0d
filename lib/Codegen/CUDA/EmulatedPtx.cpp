//===- EmulatedPtx.cpp - The inline PTX that the emulator knows -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmulatedPtx.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mpt::detail;
using llvm::StringRef;

/// A list of results, "{$0, .., $n}", of which there are `count`.
static bool consumeResults(StringRef &text, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    unsigned number;
    if (!text.consume_front(i ? ", $" : "{$") || text.consumeInteger(10, number) ||
        number != i)
      return false;
  }
  return text.consume_front("}, ");
}

static bool consumeNumber(StringRef &text) {
  unsigned number;
  return text.consume_front("$") && !text.consumeInteger(10, number);
}

static std::optional<EmulatedPtx> parseMultiply(StringRef text) {
  EmulatedPtx ptx;
  ptx.kind = EmulatedPtx::Multiply;
  auto flag = [&](bool &value) {
    value = text.starts_with("1");
    return text.consume_front("1") || text.consume_front("0");
  };
  if (!text.consume_front("{\n.reg .pred adds;\nsetp.ne.b32 adds, ") || !flag(ptx.adds) ||
      !text.consume_front(", 0;\nwgmma.mma_async.sync.aligned.m64n") ||
      text.consumeInteger(10, ptx.number) || ptx.number < 8 || ptx.number > 256 ||
      ptx.number % 8 != 0)
    return std::nullopt;
  ptx.isBF16 = text.consume_front("k16.f32.bf16.bf16 ");
  if ((!ptx.isBF16 && !text.consume_front("k16.f32.f16.f16 ")) ||
      !consumeResults(text, ptx.number / 2))
    return std::nullopt;
  ptx.isAInRegisters = text.consume_front("{");
  for (unsigned i = 0; i < (ptx.isAInRegisters ? 4 : 1); ++i)
    if ((i > 0 && !text.consume_front(", ")) || !consumeNumber(text))
      return std::nullopt;
  if ((ptx.isAInRegisters && !text.consume_front("}")) || !text.consume_front(", ") ||
      !consumeNumber(text) || !text.consume_front(", adds, 1, 1, ") ||
      (!ptx.isAInRegisters && (!flag(ptx.transposesA) || !text.consume_front(", "))) ||
      !flag(ptx.transposesB) || text != ";\n}")
    return std::nullopt;
  return ptx;
}

std::optional<EmulatedPtx> mpt::detail::parseEmulatedPtx(StringRef text) {
  EmulatedPtx ptx;
  if (text.contains("wgmma.mma_async"))
    return parseMultiply(text);
  StringRef rest = text;
  if (rest.consume_front("wgmma.wait_group.sync.aligned ")) {
    ptx.kind = EmulatedPtx::WaitForMultiplies;
    if (rest.consumeInteger(10, ptx.number) || rest != ";")
      return std::nullopt;
    return ptx;
  }
  if (rest.starts_with("setmaxnreg.inc.sync.aligned.u32 ") ||
      rest.starts_with("setmaxnreg.dec.sync.aligned.u32 "))
    return ptx;
  auto kind =
      llvm::StringSwitch<std::optional<EmulatedPtx::Kind>>(text)
          .Case("mbarrier.init.shared::cta.b64 [$0], $1;", EmulatedPtx::InitBarrier)
          .Case("fence.mbarrier_init.release.cluster;", EmulatedPtx::FenceBarriers)
          .Case("fence.proxy.async.shared::cta;", EmulatedPtx::Nothing)
          .Case("mbarrier.arrive.shared::cta.b64 _, [$0];", EmulatedPtx::Arrive)
          .Case("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
                EmulatedPtx::ArriveWithBytes)
          .Case("{\n.reg .pred done;\nagain${:uid}:\n"
                "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
                "@!done bra again${:uid};\n}",
                EmulatedPtx::WaitBarrier)
          .Case("prefetch.tensormap [$0];", EmulatedPtx::Nothing)
          .Case("prefetch.global.L2 [$0];", EmulatedPtx::Nothing)
          .Case("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::"
                "bytes [$0], [$1, {$2, $3, $4, $5}], [$6];",
                EmulatedPtx::StartTile)
          .Case("wgmma.fence.sync.aligned;", EmulatedPtx::FenceRegisters)
          .Case("wgmma.commit_group.sync.aligned;", EmulatedPtx::EndMultiplies)
          .Case("// sums of wgmma", EmulatedPtx::Take)
          .Default(std::nullopt);
  if (!kind)
    return std::nullopt;
  ptx.kind = *kind;
  return ptx;
}
