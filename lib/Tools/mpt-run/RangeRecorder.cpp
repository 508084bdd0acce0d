//===- RangeRecorder.cpp - Records of a run, merged -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeRecorder.h"
#include "mpt/Dialect/MPT/IR/StepView.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpt;

llvm::Expected<std::optional<RangeRecorder>>
RangeRecorder::create(func::FuncOp function) {
  auto header = function->getAttrOfType<DictionaryAttr>(kRecordsAttr);
  if (!header)
    return std::nullopt;
  auto fail = [&] {
    return llvm::createStringError("@" + function.getName() +
                                   ": expected the records of mpt-instrument; "
                                   "instrument the step again");
  };
  RangeRecorder recorder;
  auto types = header.getAs<ArrayAttr>("types");
  auto edges = header.getAs<DenseI64ArrayAttr>("edges");
  if (!types || !edges)
    return fail();
  for (Attribute type : types) {
    auto name = dyn_cast<StringAttr>(type);
    if (!name || !isRangeFormat(name.getValue()))
      return fail();
    recorder.profile.formats.push_back(name.getValue().str());
  }
  for (int64_t edge : edges.asArrayRef()) {
    if (edge < -149 || edge > 127)
      return fail();
    recorder.profile.edges.push_back(edge);
  }
  const int64_t bounds =
      RangeThresholds(recorder.profile.formats, recorder.profile.edges).thresholds.size();
  const int64_t numBlockFormats =
      llvm::count_if(recorder.profile.formats, [](const std::string &name) {
        return findBlockFormat(name).has_value();
      });
  // Each value has three results in a row, and a fourth if there are formats of blocks.
  const unsigned numFigures = numBlockFormats > 0 ? 4 : 3;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
    auto record = function.getResultAttrOfType<DictionaryAttr>(i, kRecordAttr);
    if (!record)
      continue;
    RecordedRange value;
    value.function = function.getName().str();
    auto text = [&](llvm::StringRef key, std::string &into) {
      if (auto found = record.getAs<StringAttr>(key))
        into = found.getValue().str();
      return !into.empty();
    };
    auto number = [&](llvm::StringRef key) -> int64_t {
      auto found = record.getAs<IntegerAttr>(key);
      return found && found.getType().isSignlessInteger(64) ? found.getInt() : -1;
    };
    Names names;
    text("parameter", value.parameter);
    text("phase", value.phase);
    bool ok = text("id", value.id) && text("op", value.op) &&
              text("location", value.location) && text("type", value.type) &&
              number("elements") > 0 && number("result") >= 0 && i + numFigures - 1 < e;
    value.result = number("result");
    for (auto [offset, figure, into] :
         {std::tuple(0u, llvm::StringRef("amax"), &names.amax),
          std::tuple(1u, llvm::StringRef("smallest"), &names.smallest),
          std::tuple(2u, llvm::StringRef("counts"), &names.counts),
          std::tuple(3u, llvm::StringRef("blocks"), &names.blocks)}) {
      if (!ok || offset == numFigures)
        break;
      auto other = function.getResultAttrOfType<DictionaryAttr>(i + offset, kRecordAttr);
      auto is = other ? other.getAs<StringAttr>("figure") : StringAttr();
      StringAttr name = StepView::getResultName(function, i + offset);
      auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i + offset]);
      ok = is && is.getValue() == figure && name && type && type.getRank() == 1 &&
           type.getDimSize(0) == (offset == 3   ? 3 * numBlockFormats
                                  : offset == 2 ? bounds
                                                : 1);
      if (ok)
        *into = name.getValue().str();
    }
    if (!ok)
      return fail();
    value.counts.assign(bounds, 0);
    value.firstOverflow.assign(recorder.profile.formats.size(), 0);
    value.blocks.resize(recorder.profile.formats.size());
    recorder.elements.push_back(number("elements"));
    recorder.profile.values.push_back(std::move(value));
    recorder.names.push_back(std::move(names));
    i += numFigures - 1;
  }
  return recorder;
}

void RangeRecorder::add(const llvm::StringMap<HostTensor> &results, int64_t attempt,
                        bool skipped) {
  ++(skipped ? profile.skipped : profile.steps);
  RangeThresholds all(profile.formats, profile.edges);
  for (size_t i = 0; i < names.size(); ++i) {
    auto amax = results.find(names[i].amax), smallest = results.find(names[i].smallest),
         counts = results.find(names[i].counts);
    if (amax == results.end() || smallest == results.end() || counts == results.end())
      continue;
    RecordedRange &value = profile.values[i];
    auto count = [&](size_t index) { return counts->second.getElement(index); };
    auto note = [&](int64_t &first, bool seen) {
      if (seen && first == 0)
        first = attempt;
    };
    const size_t last = value.counts.size() - 1;
    note(value.firstNaN, count(0) < elements[i]);
    note(value.firstInf, count(last) > 0);
    for (auto [index, name] : llvm::enumerate(profile.formats))
      if (const FloatFormat *format = findFloatFormat(name))
        note(value.firstOverflow[index],
             count(all.indexOf(format->overflowFrom)) > count(last));
    if (skipped)
      continue;
    value.amax = std::max(value.amax, amax->second.getElement(0));
    value.smallest = std::min(value.smallest, smallest->second.getElement(0));
    value.elements += elements[i];
    for (size_t bound = 0; bound <= last; ++bound)
      value.counts[bound] += count(bound);
    auto blocks = results.find(names[i].blocks);
    if (blocks == results.end())
      continue;
    // Non-zero magnitudes of each format of blocks, those that do not round to zero, and
    // those that round to normal numbers.
    size_t next = 0;
    for (auto [index, name] : llvm::enumerate(profile.formats)) {
      if (!findBlockFormat(name))
        continue;
      auto read = [&] { return blocks->second.getElement(next++); };
      const double nonZero = read(), kept = read(), normal = read();
      value.blocks[index].underflow += nonZero - kept;
      value.blocks[index].subnormal += kept - normal;
    }
  }
}

llvm::Error RangeRecorder::writeHistograms(EventLog &events,
                                           const llvm::StringMap<HostTensor> &results,
                                           int64_t attempt) const {
  if (profile.edges.empty())
    return llvm::Error::success();
  RangeRecorder step = *this;
  for (RecordedRange &value : step.profile.values) {
    value.amax = value.elements = 0;
    value.smallest = std::numeric_limits<double>::infinity();
    value.counts.assign(value.counts.size(), 0);
  }
  step.add(results, attempt, /*skipped=*/false);
  for (const RecordedRange &value : step.profile.values) {
    EventHistogram histogram;
    histogram.counts = step.profile.getHistogram(value);
    for (double count : histogram.counts)
      histogram.count += count;
    if (histogram.count == 0)
      continue;
    histogram.min = std::log2(value.smallest);
    histogram.max = std::log2(value.amax);
    histogram.limits.assign(step.profile.edges.begin(), step.profile.edges.end());
    // Magnitudes end below 2^128.
    histogram.limits.push_back(128);
    for (auto [limit, count] : llvm::zip_equal(histogram.limits, histogram.counts)) {
      const double exponent = std::clamp(limit, histogram.min, histogram.max);
      histogram.sum += exponent * count;
      histogram.sumOfSquares += exponent * exponent * count;
    }
    std::string tag = "log2/" + value.id;
    if (value.result > 0)
      tag += "." + std::to_string(value.result);
    if (llvm::Error error = events.append(tag, histogram, attempt))
      return error;
  }
  return llvm::Error::success();
}

void RangeRecorder::warn(llvm::raw_ostream &os) const {
  auto tell = [&](const llvm::Twine &what, auto getFirst) {
    const RecordedRange *first = nullptr;
    for (const RecordedRange &value : profile.values)
      if (getFirst(value) > 0 && (!first || getFirst(value) < getFirst(*first)))
        first = &value;
    if (!first)
      return;
    os << first->location << ": warning: first " << what << ": step " << getFirst(*first)
       << ", in ";
    if (first->phase == "input")
      os << "'" << first->id << "'\n";
    else
      os << "result " << first->result << " of '" << first->op << "' (" << first->phase
         << ")\n";
  };
  tell("NaN", [](const RecordedRange &value) { return value.firstNaN; });
  tell("infinity", [](const RecordedRange &value) { return value.firstInf; });
  for (size_t format = 0; format < profile.formats.size(); ++format)
    tell("overflow in " + profile.formats[format],
         [&](const RecordedRange &value) { return value.firstOverflow[format]; });
}
