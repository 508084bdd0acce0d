//===- MpiRanks.cpp - Ranks that mpirun started -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/MpiRanks.h"
#include "mpt/Runtime/Runtime.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdlib>

using namespace mpt;

namespace {

class MpiRanks : public RankGroup {
public:
  explicit MpiRanks(mpt_rt_communicator *communicator) : communicator(communicator) {}
  ~MpiRanks() override { mpt_rt_destroy_communicator(communicator); }

  int64_t getRank() const override { return mpt_rt_get_rank(communicator); }
  int64_t getNumRanks() const override { return mpt_rt_get_ranks(communicator); }
  std::string getHost(int64_t rank) const override {
    return mpt_rt_get_rank_host(communicator, static_cast<int32_t>(rank));
  }
  void setDeadline(double seconds) override {
    mpt_rt_set_deadline(communicator, seconds);
  }
  llvm::Expected<std::vector<std::string>> gather(llvm::StringRef text) override;
  llvm::Error gatherNumber(uint64_t number, uint64_t *all) override;
  // Also in the exchanges of a step.
  bool hasFailed() const override { return *mpt_rt_communicator_error(communicator); }
  int64_t findLostRank() const override { return mpt_rt_find_lost_rank(communicator); }
  bool takeReport() override { return mpt_rt_take_report(communicator) != 0; }
  void abort(int status) override {
    mpt_rt_abort(communicator, status);
    std::_Exit(status);
  }
  mpt_rt_communicator *getCommunicator() const override { return communicator; }

  llvm::Error lastError() const {
    return llvm::createStringError(mpt_rt_communicator_error(communicator));
  }

private:
  mpt_rt_communicator *communicator;
};

} // namespace

/// The upper bits of a text's size as it is sent, which other numbers do not have.
static constexpr uint64_t sizeMark = uint64_t(0x4d5054) << 40;

llvm::Expected<std::vector<std::string>> MpiRanks::gather(llvm::StringRef text) {
  const auto count = static_cast<size_t>(getNumRanks());
  std::vector<uint64_t> sizes(count);
  const uint64_t size = sizeMark | text.size();
  if (mpt_rt_gather(communicator, &size, sizeof(size), sizes.data()))
    return lastError();
  for (auto [rank, sent] : llvm::enumerate(sizes)) {
    if (sent >> 40 != sizeMark >> 40)
      return llvm::createStringError(
          describe(rank) + " is at something else than " + describe(getRank()) +
          "; call the same functions on every rank, in the same order");
    sent &= ~sizeMark;
  }
  // All send as much as the longest needs.
  const uint64_t most = *llvm::max_element(sizes);
  std::string padded = text.str(), all(most * count, '\0');
  padded.resize(most);
  if (mpt_rt_gather(communicator, padded.data(), most, all.data()))
    return lastError();
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < count; ++rank)
    texts.push_back(all.substr(rank * most, sizes[rank]));
  return texts;
}

llvm::Error MpiRanks::gatherNumber(uint64_t number, uint64_t *all) {
  if (mpt_rt_gather(communicator, &number, sizeof(number), all))
    return lastError();
  return llvm::Error::success();
}

static llvm::Expected<std::unique_ptr<RankGroup>>
connectBy(int (*connect)(mpt_rt_communicator *), double deadline) {
  auto ranks = std::make_unique<MpiRanks>(mpt_rt_create_communicator(deadline));
  if (!ranks->getCommunicator())
    return llvm::createStringError("no memory for a communicator");
  if (connect(ranks->getCommunicator()))
    return ranks->lastError();
  return std::move(ranks);
}

/// Whether torchrun started this process, and it is not part of an MPI job.
static bool isOfTorchrun() {
  // Slurm's step around torchrun has variables of PMIx, too.
  if (std::getenv("TORCHELASTIC_RUN_ID"))
    return true;
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(name))
      return false;
  return std::getenv("RANK") && std::getenv("WORLD_SIZE");
}

llvm::Expected<std::unique_ptr<RankGroup>>
mpt::connectRanks(double deadline, llvm::function_ref<llvm::Expected<bool>()> isCuda) {
  if (isOfTorchrun()) {
    auto usesGpus = isCuda();
    if (!usesGpus)
      return usesGpus.takeError();
    if (*usesGpus)
      return connectBy(mpt_rt_connect_torchrun, deadline);
  }
  return connectBy(
      [](mpt_rt_communicator *communicator) {
        return mpt_rt_connect_mpi(communicator, /*library=*/nullptr);
      },
      deadline);
}
