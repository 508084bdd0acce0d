//===- HtmlPage.h - Pages and charts that tools write -----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the memory report, recorded ranges and loss curves share: charts with labelled
/// axes, and pages that lay them out in a grid. Both follow the reader's light or dark
/// mode, and load nothing: no scripts, no files, no network.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_HTMLPAGE_H
#define MPT_SUPPORT_HTMLPAGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <utility>
#include <vector>

namespace mpt {

/// `text` for HTML and SVG, also within a quoted attribute. Control characters other
/// than line ends and tabs are left out.
std::string escapeHTML(llvm::StringRef text);

/// `value` in a printf format for doubles.
std::string formatDouble(double value, const char *format);

/// "12.3 MB": three digits and a decimal unit.
std::string formatBytes(double bytes);

/// One axis of a chart. `low` < `high`; with `isLog` both are positive.
struct ChartAxis {
  double low = 0, high = 1;
  /// What the numbers are, with their unit.
  std::string label;
  bool isLog = false;
  /// Ticks are whole numbers.
  bool isInteger = false;
  /// Numbers are exponents of two, with ticks at multiples of 4, 8, 16, ...
  bool isExponent = false;
  /// Writes a tick's number.
  std::string (*format)(double) = [](double value) {
    return formatDouble(value, "%.4g");
  };
};

/// A chart as SVG. Places are numbers of the axes; what lies beyond an axis is drawn at
/// its end. A style is a list of these words, with spaces:
///   c0 .. c5   a colour; they are told apart with any colour vision
///   muted      grey
///   dashed, dotted   lines over equal ones stay visible
///   edged      a box with an edge, next to others
class Chart {
public:
  using Points = std::vector<std::pair<double, double>>;

  /// `width` and `height` are pixels of the whole chart, without keys and bands.
  Chart(ChartAxis x, ChartAxis y, double width = 460, double height = 280);

  /// A line through the points, whose x must not fall. One that is not finite
  /// interrupts it. Of the points that share a column of pixels, the first, the
  /// extremes and the last are drawn, so that no spike is lost.
  void addLine(llvm::StringRef style, const Points &points);
  /// A filled rectangle. `title` is shown while the mouse points at it.
  void addBox(llvm::StringRef style, double left, double right, double bottom, double top,
              llvm::StringRef title);
  void addDot(llvm::StringRef style, double x, double y, llvm::StringRef title);
  /// A line across the chart, at a place of the y axis or of the x axis.
  void addHorizontal(llvm::StringRef style, double y, llvm::StringRef title);
  void addVertical(llvm::StringRef style, double x, llvm::StringRef title);
  /// A named bar below the x axis, pale up to `full`.
  void addBand(llvm::StringRef name, double begin, double full, double end);
  /// An entry above the chart that says what a style means.
  void addKey(llvm::StringRef style, llvm::StringRef text);

  /// As a part of a page.
  void print(llvm::raw_ostream &os) const;
  /// As a file of its own, with a title.
  void printFile(llvm::StringRef title, llvm::raw_ostream &os) const;

private:
  double toX(double value) const;
  double toY(double value) const;
  void printTicks(llvm::raw_ostream &os) const;
  void printBody(double top, llvm::raw_ostream &os) const;
  double printKeys(double top, llvm::raw_ostream *os) const;

  struct Band {
    std::string name;
    double begin, full, end;
  };
  ChartAxis x, y;
  double width, height;
  /// What was added, relative to the upper left corner of the plot.
  std::string body;
  std::vector<Band> bands;
  std::vector<std::pair<std::string, std::string>> keys;
};

/// Writes a page from its head to its end: sections, which are grids of cards.
class HtmlPage {
public:
  HtmlPage(llvm::StringRef title, llvm::raw_ostream &os);
  ~HtmlPage();

  /// A section with a grid of its own. `text` may be empty.
  void addSection(llvm::StringRef heading, llvm::StringRef text);
  /// A card of the grid; `place` is a source line or a note, and may be empty. A wide
  /// card takes a whole row. The caller writes its content to the stream, as HTML.
  void beginCard(llvm::StringRef heading, llvm::StringRef place, bool isWide = false);
  void endCard();

  /// A table, with texts that are not HTML. Columns named in `numbers` are aligned to
  /// the right.
  void addTable(llvm::ArrayRef<llvm::StringRef> heads,
                llvm::ArrayRef<std::vector<std::string>> rows,
                llvm::ArrayRef<unsigned> numbers);

private:
  void endGrid();

  llvm::raw_ostream &os;
  bool inGrid = false;
};

} // namespace mpt

#endif // MPT_SUPPORT_HTMLPAGE_H
