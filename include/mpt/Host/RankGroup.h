//===- RankGroup.h - The processes that train together ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the host of a step of several ranks needs to agree with the hosts of the others.
/// The steps themselves exchange their data through the runtime.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_RANKGROUP_H
#define MPT_HOST_RANKGROUP_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct mpt_rt_communicator;

namespace mpt {

/// This process and those that it trains with, numbered from 0. All of them call the same
/// functions in the same order.
class RankGroup {
public:
  virtual ~RankGroup();

  virtual int64_t getRank() const = 0;
  virtual int64_t getNumRanks() const = 0;
  /// The name of the machine of a rank.
  virtual std::string getHost(int64_t rank) const = 0;
  /// Seconds after which a rank that has not answered counts as lost.
  virtual void setDeadline(double seconds) = 0;
  /// A text of each rank, in order. Fails if a rank does not answer in time, and always
  /// after that.
  virtual llvm::Expected<std::vector<std::string>> gather(llvm::StringRef text) = 0;
  /// A number of each rank, in order, into `all`: one message, since every step asks.
  virtual llvm::Error gatherNumber(uint64_t number, uint64_t *all) = 0;
  /// Whether a rank did not answer in time.
  virtual bool hasFailed() const = 0;
  /// The first rank of this machine whose process has ended; -1: none. Like the next, for
  /// signal handlers, too.
  virtual int64_t findLostRank() const { return -1; }
  /// True for one rank of this machine: it reports why all of them end.
  virtual bool takeReport() { return getRank() == 0; }
  /// Ends all ranks and this process.
  [[noreturn]] virtual void abort(int status) = 0;
  /// What the runtime knows the ranks by.
  virtual mpt_rt_communicator *getCommunicator() const = 0;

  /// "rank 1 (on node7)".
  std::string describe(int64_t rank) const;
  /// Ranks on the machine of this one, itself included.
  int64_t countNeighbors() const;
  /// The number of this rank among those of its machine: LOCAL_RANK where torchrun has
  /// set it, else how many ranks before it are there.
  int64_t findLocalRank() const;

  /// Success if every rank brings success. Else an error on every rank, the same one:
  /// what went wrong on rank 0, and on others what did not go wrong there.
  llvm::Error agree(llvm::Error own);
  /// Fails, on every rank, if `text`, lines that tell `what`, is not the same on all
  /// ranks. Names the first line that differs, and where.
  llvm::Error checkSame(llvm::StringRef what, llvm::StringRef text);
  /// True if it is on any rank; false if a rank does not answer, which the next exchange
  /// reports.
  bool isAnywhere(bool own);
};

/// The number that mpirun or torchrun gave this process and how many it started, from the
/// variables that Open MPI (OMPI_COMM_WORLD_RANK, .._SIZE), MPICH and Intel MPI
/// (PMI_RANK, PMI_SIZE) and torchrun (RANK, WORLD_SIZE) set. Nothing if it was started
/// alone.
struct LaunchedRank {
  int64_t rank, count;
};
std::optional<LaunchedRank> findLaunchedRank();

} // namespace mpt

#endif // MPT_HOST_RANKGROUP_H
