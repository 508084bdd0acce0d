//===- ScaleModel.h - A step on many ranks, on paper ------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Predicts a step on any number of ranks from the schedule of its program: what each
/// rank sends over which link, how long its exchanges take, and how much of that the rest
/// of the step does not hide. Plain data and arithmetic.
///
/// A message takes its link's latency plus its bytes divided by the bandwidth (the model
/// of Hockney 1994), and costs its sender `overhead` (the o of LogP, Culler et al. 1993).
/// Bytes are those that the runtime counts when it runs (mpt_rt_get_sent_bytes).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PARALLEL_SCALEMODEL_H
#define MPT_PARALLEL_SCALEMODEL_H

#include "mpt/ProgramABI/ProgramFormat.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mpt {

/// What messages travel over.
struct Link {
  /// Bytes that one machine (or, within a machine, one rank) sends in a second.
  double bandwidth = 1e9;
  /// Seconds until a message of no bytes is there, and that sending one costs.
  double latency = 50e-6, overhead = 1e-6;
};

/// Reads "GB/s:us" or "GB/s:us:us": bandwidth in 10^9 bytes a second, latency and
/// overhead in microseconds, all but the overhead above 0.
llvm::Expected<Link> parseLink(llvm::StringRef text);

/// The machines that a step runs on.
struct Cluster {
  Link between;
  /// Ranks of one machine, and what they have between them.
  int64_t ranksPerMachine = 1;
  Link within;
  /// FLOP/s of a rank's matmuls and convolutions, and bytes that it reads and writes in
  /// a second.
  double flops = 1e11, memory = 1e10;
};

/// An exchange, as its instruction says.
struct ScaledExchange {
  /// Of which only shapes and types matter: `ranks` is replaced.
  rt::Instruction instruction;
  /// The source line.
  std::string location;
};

/// What a rank does, in order.
struct ScaleEvent {
  enum Kind {
    /// Computes for `seconds`.
    Work,
    /// Exchange `exchange` runs while nothing else does, begins, or is waited for.
    Exchange,
    Begin,
    Wait
  } kind = Work;
  double seconds = 0;
  unsigned exchange = 0;
};

/// A step, as far as it matters.
struct ScaleProgram {
  std::vector<ScaleEvent> events;
  std::vector<ScaledExchange> exchanges;
  /// Bytes of a rank, as the program has them.
  int64_t arena = 0, state = 0, outputs = 0, constants = 0;
  /// Of `state`: parameters, and what optimizers keep for them (masters, moments), which
  /// ZeRO cuts.
  int64_t parameters = 0, optimizer = 0;
};

/// What a rank sends for one exchange.
struct ExchangeTraffic {
  double bytesBetween = 0, bytesWithin = 0;
  double messages = 0, seconds = 0;
  double bytes() const { return bytesBetween + bytesWithin; }
};

/// Traffic of rank 0 for `exchange` among `ranks` ranks.
ExchangeTraffic getTraffic(const rt::Instruction &exchange, int64_t ranks,
                           const Cluster &cluster);

/// A way to distribute a step.
struct ScaledMemory {
  /// Bytes of a rank: with every rank's state whole; with the optimizer's state cut
  /// between the ranks; and with the parameters cut, too, of which a sixteenth is a unit
  /// (Rajbhandari et al. 2020, "ZeRO"). What a step works with is that of the program.
  /// With ZeRO-2 and ZeRO-3 it is less where all gradients are kept at its peak, so these
  /// are bounds there. For n = 1, units that are whole beside their own part count twice.
  double data = 0, zero1 = 0, zero2 = 0, zero3 = 0;
};

struct ScalePoint {
  int64_t ranks = 1;
  ScaledMemory memory;
  /// Bytes that a rank sends in a step, over each link; and with ZeRO-3, which gathers
  /// parameters twice (3 (n - 1) / n of their bytes) instead of adding gradients.
  double bytesBetween = 0, bytesWithin = 0, zero3Bytes = 0;
  /// Milliseconds of a step: what it computes, all exchanges, those that nothing hides,
  /// and the whole.
  double compute = 0, exchange = 0, exposed = 0, step = 0;
  /// compute / step: the part of n ranks' work that is done.
  double efficiency() const { return step > 0 ? compute / step : 1; }
};

/// Runs the schedule with simulated clocks: one computes, one exchanges, in order.
ScalePoint simulate(const ScaleProgram &program, int64_t ranks, const Cluster &cluster);

} // namespace mpt

#endif // MPT_PARALLEL_SCALEMODEL_H
