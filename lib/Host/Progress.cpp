//===- Progress.cpp - The progress of a run ---------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Host/Progress.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <cmath>

using namespace mpt;

std::string mpt::formatDuration(double seconds) {
  if (!(seconds >= 0 && seconds < 1e9))
    return "?";
  int64_t whole = std::llround(seconds);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (whole >= 3600)
    stream << whole / 3600 << llvm::format(":%02d", int(whole / 60 % 60));
  else
    stream << whole / 60;
  stream << llvm::format(":%02d", int(whole % 60));
  return text;
}

void Progress::clear() {
  if (drawnWidth > 0)
    os << '\r' << std::string(drawnWidth, ' ') << '\r';
  drawnWidth = 0;
}

void Progress::update(int64_t step, double loss, double seconds) {
  bool isLast = step >= options.total;
  if (options.isTerminal) {
    if (!isLast && lastDrawn >= 0 && seconds - lastDrawn < 0.1)
      return;
  } else if (!isLast && step % std::max<int64_t>(options.every, 1) != 0) {
    return;
  }
  lastDrawn = seconds;

  int64_t done = step - options.first;
  double perStep = done > 0 ? seconds / done : 0;
  std::string text;
  llvm::raw_string_ostream stream(text);
  // A bar stays where it is while the step's number grows.
  std::string total = std::to_string(options.total);
  stream << llvm::right_justify(std::to_string(step),
                                options.isTerminal ? total.size() : 0)
         << '/' << total << llvm::format("  loss %-11.6g", loss)
         << llvm::format("%8.2f ms/step", perStep * 1e3) << "  eta "
         << formatDuration(perStep * (options.total - step));
  std::string label = options.label.empty() ? "" : options.label + "  ";
  if (!options.isTerminal) {
    os << label << "step " << text << '\n';
    os.flush();
    return;
  }

  // What the text leaves of the line, within reason, is the bar's.
  int64_t room = static_cast<int64_t>(options.columns) - 4 -
                 static_cast<int64_t>(label.size() + text.size());
  std::string line = label;
  if (room >= 5) {
    int64_t width = std::min<int64_t>(room, 30);
    int64_t filled = options.total > 0
                         ? std::clamp<int64_t>(width * step / options.total, 0, width)
                         : 0;
    line += '[' + std::string(filled, '#') + std::string(width - filled, '.') + "] ";
  }
  line += text;
  line.resize(std::min<size_t>(line.size(), std::max(options.columns, 2u) - 1));
  os << '\r' << line;
  if (drawnWidth > line.size())
    os << std::string(drawnWidth - line.size(), ' ');
  drawnWidth = line.size();
  os.flush();
}

void Progress::note(llvm::StringRef line) {
  clear();
  if (!options.label.empty())
    os << options.label << "  ";
  os << line << '\n';
  os.flush();
  lastDrawn = -1;
}

void Progress::finish() {
  if (drawnWidth > 0)
    os << '\n';
  drawnWidth = 0;
  os.flush();
}
