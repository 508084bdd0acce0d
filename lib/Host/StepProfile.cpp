//===- StepProfile.cpp - Where a step spends its time -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/StepProfile.h"
#include "mpt/Support/HtmlPage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <tuple>

using namespace mpt;

double MachineRates::getBound(const ProfileEntry &entry) const {
  auto rate = flops.find(entry.type);
  if (rate == flops.end())
    rate = flops.find("f32");
  double seconds = bytes > 0 ? entry.bytes / bytes : 0;
  if (rate != flops.end() && rate->second > 0)
    seconds = std::max(seconds, entry.flops / rate->second);
  return 1e3 * seconds;
}

static double getTotal(const StepProfile &profile) {
  double total = 0;
  for (const ProfileEntry &entry : profile.entries)
    total += entry.milliseconds;
  return total;
}

static void add(ProfileGroup &group, const ProfileEntry &entry,
                const StepProfile &profile) {
  ++group.count;
  group.milliseconds += entry.milliseconds;
  group.flops += entry.flops;
  group.bytes += entry.bytes;
  if (profile.rates)
    group.bound += profile.rates->getBound(entry);
}

static std::vector<ProfileGroup> groupBy(const StepProfile &profile,
                                         std::string ProfileEntry::*name) {
  std::map<std::string, ProfileGroup> groups;
  for (const ProfileEntry &entry : profile.entries)
    add(groups[entry.*name], entry, profile);
  std::vector<ProfileGroup> result;
  for (auto &[key, group] : groups) {
    group.name = key;
    result.push_back(std::move(group));
  }
  llvm::sort(result, [](const ProfileGroup &a, const ProfileGroup &b) {
    return std::tie(b.milliseconds, a.name) < std::tie(a.milliseconds, b.name);
  });
  return result;
}

std::vector<ProfileGroup> mpt::groupByCall(const StepProfile &profile) {
  return groupBy(profile, &ProfileEntry::call);
}
std::vector<ProfileGroup> mpt::groupBySource(const StepProfile &profile) {
  return groupBy(profile, &ProfileEntry::location);
}

//===----------------------------------------------------------------------===//
// Text and page
//===----------------------------------------------------------------------===//

namespace {
using Row = std::vector<std::string>;
} // namespace

/// The columns after the name.
static const llvm::StringRef columns[] = {"ms",      "%",    "count",
                                          "GFLOP/s", "GB/s", "of peak"};

static Row makeRow(const ProfileGroup &group, double total, bool hasRates) {
  const double ms = group.milliseconds;
  // A unit of 1e9 in a second is one of 1e6 in a millisecond.
  auto rate = [&](double amount) {
    return amount > 0 && ms > 0 ? formatDouble(amount / ms * 1e-6, "%.1f") : "-";
  };
  return {group.name,
          formatDouble(ms, "%.3f"),
          formatDouble(total > 0 ? 100 * ms / total : 0, "%.1f"),
          std::to_string(group.count),
          rate(group.flops),
          rate(group.bytes),
          hasRates && ms > 0 ? formatDouble(100 * group.bound / ms, "%.0f %%") : "-"};
}

/// The groups as rows, and one for all after the first `most`.
static std::vector<Row> makeRows(const std::vector<ProfileGroup> &groups, double total,
                                 bool hasRates, size_t most) {
  std::vector<Row> rows;
  ProfileGroup rest;
  for (const auto &[index, group] : llvm::enumerate(groups)) {
    if (index < most || groups.size() == most + 1) {
      rows.push_back(makeRow(group, total, hasRates));
      continue;
    }
    rest.count += group.count;
    rest.milliseconds += group.milliseconds;
    rest.flops += group.flops;
    rest.bytes += group.bytes;
    rest.bound += group.bound;
  }
  if (rest.count) {
    rest.name = std::to_string(groups.size() - most) + " others";
    rows.push_back(makeRow(rest, total, hasRates));
  }
  return rows;
}

static void printTable(llvm::raw_ostream &os, llvm::StringRef head,
                       const std::vector<Row> &rows) {
  std::vector<Row> table = {{head.str()}};
  for (llvm::StringRef column : columns)
    table.front().push_back(column.str());
  llvm::append_range(table, rows);
  std::vector<size_t> widths(table.front().size(), 0);
  for (const Row &row : table)
    for (const auto &[width, text] : llvm::zip_equal(widths, row))
      width = std::max(width, text.size());
  for (const Row &row : table) {
    // The name on the left, numbers on the right.
    os << row[0] << std::string(widths[0] - row[0].size(), ' ');
    for (size_t i = 1; i < row.size(); ++i)
      os << "  " << std::string(widths[i] - row[i].size(), ' ') << row[i];
    os << '\n';
  }
}

static std::string describeRates(const MachineRates &rates) {
  std::string text = "peak of this machine, measured now: ";
  for (const auto &[type, rate] : rates.flops)
    text += type + " " + formatDouble(rate * 1e-9, "%.1f GFLOP/s, ");
  return text + "a copy " + formatDouble(rates.bytes * 1e-9, "%.1f GB/s");
}

static std::string describeExchanges(const ExchangeProfile &exchanges) {
  return "exchanges with other ranks: " + formatDouble(exchanges.milliseconds, "%.3f") +
         " ms, of which " + formatDouble(exchanges.exposed, "%.3f") +
         " ms are exposed (nothing else runs); " +
         formatDouble(exchanges.bytes * 1e-6, "%.3f") + " MB sent";
}

void mpt::printProfile(llvm::raw_ostream &os, llvm::StringRef title,
                       const StepProfile &profile) {
  const double total = getTotal(profile);
  const bool hasRates = profile.rates.has_value();
  os << title << ": " << formatDouble(total, "%.3f") << " ms a step, mean of "
     << profile.steps << '\n';
  if (hasRates)
    os << describeRates(*profile.rates) << '\n';
  if (profile.exchanges)
    os << describeExchanges(*profile.exchanges) << '\n';
  const std::vector<ProfileGroup> calls = groupByCall(profile),
                                  sources = groupBySource(profile);
  printTable(os, "by call", makeRows(calls, total, hasRates, calls.size()));
  printTable(os, "by source", makeRows(sources, total, hasRates, 20));
}

std::string mpt::renderProfilePage(const StepProfile &profile, llvm::StringRef title) {
  const double total = getTotal(profile);
  const bool hasRates = profile.rates.has_value();
  std::string text;
  {
    llvm::raw_string_ostream os(text);
    HtmlPage page(title, os);
    os << "<p>" << formatDouble(total, "%.3f") << " ms a step, mean of " << profile.steps
       << ".";
    if (hasRates)
      os << " The " << escapeHTML(describeRates(*profile.rates)) << ".";
    if (profile.exchanges)
      os << " The " << escapeHTML(describeExchanges(*profile.exchanges)) << ".";
    os << "</p>\n";
    auto table = [&](llvm::StringRef heading, llvm::StringRef head,
                     const std::vector<Row> &rows) {
      std::vector<llvm::StringRef> heads = {head};
      llvm::append_range(heads, columns);
      const unsigned numbers[] = {1, 2, 3, 4, 5, 6};
      page.addSection(heading, "");
      page.beginCard("", "", /*isWide=*/true);
      page.addTable(heads, rows, numbers);
      page.endCard();
    };
    const std::vector<ProfileGroup> calls = groupByCall(profile),
                                    sources = groupBySource(profile);
    table("By call", "call", makeRows(calls, total, hasRates, calls.size()));
    table("By source", "source", makeRows(sources, total, hasRates, sources.size()));
    std::vector<Row> rows;
    for (const ProfileEntry &entry : profile.entries) {
      ProfileGroup one;
      add(one, entry, profile);
      one.name = entry.call + " " + entry.location;
      rows.push_back(makeRow(one, total, hasRates));
    }
    table("In order", "call and source", rows);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeGroups(llvm::json::OStream &json, llvm::StringRef name,
                        const std::vector<ProfileGroup> &groups, bool hasRates) {
  json.attributeArray(name, [&] {
    for (const ProfileGroup &group : groups)
      json.object([&] {
        json.attribute("name", group.name);
        json.attribute("count", group.count);
        json.attribute("ms", group.milliseconds);
        json.attribute("flops", group.flops);
        json.attribute("bytes", group.bytes);
        if (hasRates)
          json.attribute("bound_ms", group.bound);
      });
  });
}

std::string mpt::printProfileJSON(const StepProfile &profile) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 1);
  const bool hasRates = profile.rates.has_value();
  json.object([&] {
    json.attribute("steps", profile.steps);
    json.attribute("ms", getTotal(profile));
    if (hasRates)
      json.attributeObject("rates", [&] {
        json.attributeObject("flops", [&] {
          for (const auto &[type, rate] : profile.rates->flops)
            json.attribute(type, rate);
        });
        json.attribute("bytes", profile.rates->bytes);
      });
    else
      json.attribute("rates", nullptr);
    if (profile.exchanges)
      json.attributeObject("exchanges", [&] {
        json.attribute("ms", profile.exchanges->milliseconds);
        json.attribute("exposed_ms", profile.exchanges->exposed);
        json.attribute("bytes", profile.exchanges->bytes);
      });
    writeGroups(json, "calls", groupByCall(profile), hasRates);
    writeGroups(json, "sources", groupBySource(profile), hasRates);
    json.attributeArray("instructions", [&] {
      for (const ProfileEntry &entry : profile.entries)
        json.object([&] {
          json.attribute("number", entry.number);
          json.attribute("call", entry.call);
          json.attribute("source", entry.location);
          json.attribute("ms", entry.milliseconds);
          json.attribute("flops", entry.flops);
          json.attribute("bytes", entry.bytes);
          if (entry.flops > 0)
            json.attribute("type", entry.type);
          if (hasRates)
            json.attribute("bound_ms", profile.rates->getBound(entry));
        });
    });
  });
  os << '\n';
  return text;
}
