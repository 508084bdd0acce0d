//===- RangeProfileFile.cpp - The file of a range profile -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// JSON lines: one object for the profile, then one per value. Figures are named,
/// so that other tools can read them; counts by threshold follow from them.
///
//===----------------------------------------------------------------------===//

#include "mpt/Precision/RangeProfile.h"
#include "mpt/Support/ParseJSON.h"

#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace mpt;
namespace json = llvm::json;

/// The version of the file's form.
static constexpr int64_t kVersion = 1;

static void print(const RangeProfile &profile, const RecordedRange &value,
                  json::OStream &out) {
  auto count = [](double number) { return static_cast<int64_t>(number); };
  out.object([&] {
    out.attribute("id", value.id);
    out.attribute("result", value.result);
    out.attribute("op", value.op);
    out.attribute("function", value.function);
    out.attribute("location", value.location);
    out.attribute("phase", value.phase);
    if (!value.parameter.empty())
      out.attribute("parameter", value.parameter);
    out.attribute("type", value.type);
    out.attribute("elements", count(value.elements));
    out.attribute("amax", value.amax);
    if (std::isfinite(value.smallest))
      out.attribute("smallest", value.smallest);
    out.attribute("nan", count(profile.getNaN(value)));
    out.attribute("inf", count(profile.getInf(value)));
    out.attribute("zero", count(value.counts[0] - value.counts[1]));
    for (size_t index = 0; index < profile.formats.size(); ++index) {
      const std::string &format = profile.formats[index];
      out.attributeObject(format, [&] {
        out.attribute("underflow", count(profile.getUnderflow(value, format)));
        out.attribute("subnormal", count(profile.getSubnormal(value, format)));
        out.attribute("overflow", count(profile.getOverflow(value, format)));
        if (value.firstOverflow[index])
          out.attribute("first_overflow", value.firstOverflow[index]);
      });
    }
    if (value.firstNaN)
      out.attribute("first_nan", value.firstNaN);
    if (value.firstInf)
      out.attribute("first_inf", value.firstInf);
    if (!profile.edges.empty())
      out.attributeArray("histogram", [&] {
        for (double bin : profile.getHistogram(value))
          out.value(count(bin));
      });
  });
}

std::string mpt::printRangeProfile(const RangeProfile &profile) {
  std::string text;
  llvm::raw_string_ostream os(text);
  {
    json::OStream out(os);
    out.object([&] {
      out.attribute("mpt_ranges", kVersion);
      out.attribute("steps", profile.steps);
      out.attribute("skipped", profile.skipped);
      out.attributeArray("types", [&] {
        for (const std::string &format : profile.formats)
          out.value(format);
      });
      out.attributeArray("edges", [&] {
        for (int64_t edge : profile.edges)
          out.value(edge);
      });
    });
  }
  os << '\n';
  for (const RecordedRange &value : profile.values) {
    json::OStream out(os);
    print(profile, value, out);
    out.flush();
    os << '\n';
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static std::optional<std::string> readHeader(const json::Object &object,
                                             RangeProfile &profile) {
  auto version = object.getInteger("mpt_ranges");
  if (!version)
    return "expected a profile of ranges, whose first line has 'mpt_ranges'";
  if (*version != kVersion)
    return "expected a profile of version " + std::to_string(kVersion) + ", found " +
           std::to_string(*version);
  profile.steps = object.getInteger("steps").value_or(0);
  profile.skipped = object.getInteger("skipped").value_or(0);
  if (const json::Array *types = object.getArray("types"))
    for (const json::Value &type : *types) {
      auto name = type.getAsString();
      if (!name || !isRangeFormat(*name))
        return std::string("expected names of float types in 'types'");
      profile.formats.push_back(name->str());
    }
  if (const json::Array *edges = object.getArray("edges"))
    for (const json::Value &edge : *edges) {
      auto number = edge.getAsInteger();
      if (!number || *number < -149 || *number > 127 ||
          (!profile.edges.empty() && *number <= profile.edges.back()))
        return std::string("expected ascending powers of two from -149 to 127 in "
                           "'edges'");
      profile.edges.push_back(*number);
    }
  return std::nullopt;
}

/// Counts are whole numbers that a double holds.
static bool isCount(double number) {
  return number >= 0 && number <= int64_t(1) << 53 && number == std::trunc(number);
}

static std::optional<std::string> readValue(const json::Object &object,
                                            RangeProfile &profile) {
  RecordedRange value;
  std::string missing;
  auto text = [&](llvm::StringRef key, std::string &into, bool required = true) {
    if (auto found = object.getString(key))
      into = found->str();
    else if (required && missing.empty())
      missing = key.str();
  };
  auto number = [&](const json::Object &from, llvm::StringRef key) -> double {
    if (auto found = from.getNumber(key))
      return *found;
    if (missing.empty())
      missing = key.str();
    return 0;
  };
  text("id", value.id);
  text("op", value.op);
  text("function", value.function);
  text("location", value.location, false);
  text("phase", value.phase, false);
  text("parameter", value.parameter, false);
  text("type", value.type, false);
  value.result = object.getInteger("result").value_or(0);
  std::string wrong;
  auto count = [&](const json::Object &from, llvm::StringRef key) -> double {
    double found = number(from, key);
    if (wrong.empty() && !isCount(found))
      wrong = key.str();
    return found;
  };
  value.elements = count(object, "elements");
  value.amax = number(object, "amax");
  if (!std::isfinite(value.amax))
    return std::string("expected 'amax' to be a finite number");
  value.smallest =
      object.getNumber("smallest").value_or(std::numeric_limits<double>::infinity());
  value.firstNaN = object.getInteger("first_nan").value_or(0);
  value.firstInf = object.getInteger("first_inf").value_or(0);
  RangeThresholds all(profile.formats, profile.edges);
  value.counts.assign(all.thresholds.size(), 0);
  value.counts.front() = value.elements - count(object, "nan");
  const double nonZero = value.counts.front() - count(object, "zero");
  const double inf = count(object, "inf");
  for (const std::string &name : profile.formats) {
    static const json::Object none;
    const json::Object *figures = object.getObject(name);
    if (!figures)
      figures = &none;
    value.blocks.emplace_back();
    if (findBlockFormat(name)) {
      value.blocks.back() = {count(*figures, "underflow"), count(*figures, "subnormal")};
      value.firstOverflow.push_back(0);
      continue;
    }
    const FloatFormat &format = *findFloatFormat(name);
    double reached = nonZero - count(*figures, "underflow");
    value.counts[all.indexOf(format.nonZeroFrom)] = reached;
    value.counts[all.indexOf(format.normalFrom)] = reached - count(*figures, "subnormal");
    value.counts[all.indexOf(format.overflowFrom)] = inf + count(*figures, "overflow");
    value.firstOverflow.push_back(figures->getInteger("first_overflow").value_or(0));
  }
  if (!profile.edges.empty()) {
    const json::Array *bins = object.getArray("histogram");
    if (!bins || bins->size() != profile.edges.size() + 1)
      return "expected 'histogram' to be " + std::to_string(profile.edges.size() + 1) +
             " counts";
    double reached = inf;
    for (size_t i = profile.edges.size(); i-- > 0;) {
      double bin = (*bins)[i + 1].getAsNumber().value_or(-1);
      if (!isCount(bin))
        return std::string("expected 'histogram' to be counts");
      reached += bin;
      value.counts[all.indexOf(std::ldexp(1.0f, static_cast<int>(profile.edges[i])))] =
          reached;
    }
  }
  value.counts[1] = nonZero;
  value.counts.back() = inf;
  if (!missing.empty())
    return "expected '" + missing + "'";
  if (!wrong.empty())
    return "expected '" + wrong + "' to be a count";
  // What is left of the elements once these are taken away.
  const double most = value.elements;
  if (nonZero < 0 ||
      llvm::any_of(value.counts, [&](double left) { return left < 0 || left > most; }))
    return "the counts are more than the " +
           std::to_string(static_cast<int64_t>(value.elements)) + " 'elements'";
  profile.values.push_back(std::move(value));
  return std::nullopt;
}

llvm::Expected<RangeProfile> mpt::readRangeProfile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(path +
                                   ": cannot read: " + buffer.getError().message());
  RangeProfile profile;
  llvm::StringRef rest = (*buffer)->getBuffer();
  for (size_t line = 1; !rest.empty(); ++line) {
    llvm::StringRef text;
    std::tie(text, rest) = rest.split('\n');
    if (text.trim().empty())
      continue;
    auto fail = [&](const llvm::Twine &message) {
      return llvm::createStringError(path + ":" + llvm::Twine(line) + ": " + message);
    };
    auto parsed = parseJSON(text);
    if (!parsed)
      return fail("expected a JSON object: " + llvm::toString(parsed.takeError()));
    const json::Object *object = parsed->getAsObject();
    if (!object)
      return fail("expected a JSON object");
    if (auto problem =
            line == 1 ? readHeader(*object, profile) : readValue(*object, profile))
      return fail(*problem);
  }
  if (profile.values.empty())
    return llvm::createStringError(path + ": the profile holds no values");
  return profile;
}
