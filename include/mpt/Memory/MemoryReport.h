//===- MemoryReport.h - Report of the memory of a function ------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The figures of a MemoryGraph and its plan as data, as text, JSON and a page.
/// docs/Memory.md describes the JSON.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_MEMORY_MEMORYREPORT_H
#define MPT_MEMORY_MEMORYREPORT_H

#include "mpt/Memory/Planning/MemoryGraph.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace mpt {

/// Positions count ops in the order in which they run; the end is one more.
struct MemoryReport {
  struct Op {
    std::string name, location;
    /// Bytes of temporaries while it runs, and its workspace among them.
    int64_t bytes, workspace;
  };
  /// What lies in one block of the arena from `first` to `last`.
  struct Buffer {
    /// The op that makes it, or "argument"; "workspace of ..." for that.
    std::string what, type, location;
    int64_t bytes, first, last, offset;
    /// It took the bytes of one that died where it was made.
    bool inPlace;
  };
  struct Trial {
    std::string order;
    int64_t peak, arena;
  };

  std::string function;
  /// "kernels" or "ops".
  std::string grain;
  /// The order chosen, and all that were tried (kernels).
  std::string order = "keep";
  std::vector<Trial> trials;
  int64_t alignment = 0;
  int64_t arguments = 0, state = 0, constants = 0, results = 0;
  /// The most bytes of temporaries at one position: no arena for this order is
  /// smaller.
  int64_t peak = 0;
  unsigned peakPosition = 0;
  /// The size of the planned arena.
  int64_t arena = 0;
  std::vector<Op> ops;
  /// Bytes of temporaries after the last op.
  int64_t bytesAtEnd = 0;
  std::vector<Buffer> buffers;

  int64_t getBytesAt(unsigned position) const {
    return position < ops.size() ? ops[position].bytes : bytesAtEnd;
  }
  /// Numbers of the buffers alive at `position`, largest first.
  std::vector<unsigned> getLive(unsigned position) const;
};

/// The report of `graph` in its own order; block i of `profile` lies at `offsets[i]`.
MemoryReport makeMemoryReport(const MemoryGraph &graph, const MemoryProfile &profile,
                              llvm::ArrayRef<int64_t> offsets, int64_t arenaBytes);

/// The report of the function of that name, or null.
const MemoryReport *findReport(llvm::ArrayRef<MemoryReport> reports,
                               llvm::StringRef function);

/// As text; at most `top` buffers at the peak (0: all).
void printMemoryText(llvm::ArrayRef<MemoryReport> reports,
                     llvm::ArrayRef<MemoryReport> before, unsigned top,
                     llvm::raw_ostream &os);
void printMemoryJSON(llvm::ArrayRef<MemoryReport> reports,
                     llvm::ArrayRef<MemoryReport> before, llvm::raw_ostream &os);
/// One page without scripts or anything from elsewhere.
void printMemoryPage(llvm::ArrayRef<MemoryReport> reports,
                     llvm::ArrayRef<MemoryReport> before, llvm::raw_ostream &os);

/// Reads what printMemoryJSON wrote.
llvm::Expected<std::vector<MemoryReport>> readMemoryJSON(llvm::StringRef text);

} // namespace mpt

#endif // MPT_MEMORY_MEMORYREPORT_H
