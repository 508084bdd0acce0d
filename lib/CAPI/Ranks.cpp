//===- Ranks.cpp - Processes that train together ----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "Common.h"
#include "mpt/Host/MpiRanks.h"
#include <string>

using namespace mpt;
using namespace mpt::capi;

/// Whether it can be waited for so long.
static bool isDeadline(double seconds) { return seconds > 0 && seconds < 1e9; }

static MptError failDeadline(double seconds) {
  return fail("expected a deadline of a number of seconds above 0, found " +
              std::to_string(seconds));
}

MptError mptRanksConnect(double deadline, MptRanks *ranks) {
  if (!ranks)
    return fail("mptRanksConnect: expected a place for the ranks");
  return mptRanksConnectFor(mlirStringRefCreateFromCString("cpu"), deadline, ranks);
}

MptError mptRanksConnectFor(MlirStringRef device, double deadline, MptRanks *ranks) {
  if (!ranks)
    return fail("mptRanksConnectFor: expected a place for the ranks");
  if (!isDeadline(deadline))
    return failDeadline(deadline);
  llvm::Expected<DeviceName> name = parseDevice(unwrapText(device));
  if (!name)
    return fail(name.takeError());
  auto connected = connectRanks(deadline, [&] { return name->isCuda; });
  if (!connected)
    return fail(connected.takeError());
  ranks->ptr = connected->release();
  return success();
}

void mptRanksDestroy(MptRanks ranks) { delete unwrap(ranks); }

int64_t mptRanksGetRank(MptRanks ranks) {
  return ranks.ptr ? unwrap(ranks)->getRank() : 0;
}
int64_t mptRanksGetCount(MptRanks ranks) {
  return ranks.ptr ? unwrap(ranks)->getNumRanks() : 0;
}
int64_t mptRanksGetNumNeighbors(MptRanks ranks) {
  return ranks.ptr ? unwrap(ranks)->countNeighbors() : 0;
}

MptError mptRanksSetDeadline(MptRanks ranks, double seconds) {
  if (!ranks.ptr)
    return fail("mptRanksSetDeadline: expected ranks");
  if (!isDeadline(seconds))
    return failDeadline(seconds);
  unwrap(ranks)->setDeadline(seconds);
  return success();
}

MptError mptRanksCheckSame(MptRanks ranks, MlirStringRef what, MlirStringRef text) {
  if (!ranks.ptr)
    return fail("mptRanksCheckSame: expected ranks");
  if (llvm::Error error = unwrap(ranks)->checkSame(unwrapText(what), unwrapText(text)))
    return fail(std::move(error));
  return success();
}

MptError mptRanksGather(MptRanks ranks, uint64_t number, uint64_t *all) {
  if (!ranks.ptr || !all)
    return fail("mptRanksGather: expected ranks and a place for their numbers");
  if (llvm::Error error = unwrap(ranks)->gatherNumber(number, all))
    return fail(std::move(error));
  return success();
}
