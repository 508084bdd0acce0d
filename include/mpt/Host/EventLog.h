//===- EventLog.h - Event files for TensorBoard -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A run's scalars and histograms as TensorBoard reads them: records of TFRecord (length,
/// its masked CRC-32C, data, its masked CRC-32C), each with one message
/// tensorflow.Event in protobuf's wire format
/// (https://github.com/tensorflow/tensorboard/tree/master/tensorboard/compat/proto:
/// event.proto, summary.proto, histogram.proto).
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_EVENTLOG_H
#define MPT_HOST_EVENTLOG_H

#include "mpt/Host/MetricsLog.h"

namespace mpt {

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of `data`.
uint32_t computeCRC32C(llvm::StringRef data);

/// How many numbers are at most each limit and above the one before. Limits ascend.
struct EventHistogram {
  double min = 0, max = 0, count = 0, sum = 0, sumOfSquares = 0;
  std::vector<double> limits, counts;
};

class EventLog {
public:
  /// Creates a file of its own in `directory`, which is made if there is none:
  /// events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER. With `resumeFrom`, the number of
  /// attempts that a run goes on from, it tells TensorBoard to forget what older files
  /// in the directory say of later ones.
  static llvm::Expected<EventLog> create(llvm::StringRef directory,
                                         std::optional<int64_t> resumeFrom);
  EventLog(EventLog &&other);
  EventLog &operator=(EventLog &&) = delete;
  ~EventLog();

  /// Adds the numbers of `record` but "step" as scalars of step `step`. The tag of a
  /// column is its name; that of an evaluation's, eval.NAME, is eval/NAME.
  llvm::Error append(const MetricsRecord &record, int64_t step);
  llvm::Error append(llvm::StringRef tag, const EventHistogram &histogram, int64_t step);

private:
  EventLog(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}
  /// Writes `event`, to which it adds the time, as one record.
  llvm::Error write(std::string event);

  std::string path;
  int descriptor;
};

} // namespace mpt

#endif // MPT_HOST_EVENTLOG_H
