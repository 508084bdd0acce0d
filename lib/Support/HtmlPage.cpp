//===- HtmlPage.cpp - Pages and charts that tools write ---------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/HtmlPage.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <cmath>

using namespace mpt;
using llvm::ArrayRef;
using llvm::StringRef;

/// Pixels around the plot: numbers and labels of the axes.
static constexpr double kLeft = 76, kRight = 20, kTop = 12, kBottom = 46, kBand = 14,
                        kBandGap = 8;

std::string mpt::escapeHTML(StringRef text) {
  std::string escaped;
  for (char c : text) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else if (c == '\'')
      escaped += "&#39;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
      escaped += c;
  }
  return escaped;
}

std::string mpt::formatDouble(double value, const char *format) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}

std::string mpt::formatBytes(double bytes) {
  const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  unsigned unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit)
    bytes /= 1000;
  return formatDouble(bytes, "%.3g ") + units[unit];
}

/// A coordinate.
static std::string px(double value) { return formatDouble(value, "%.1f"); }

namespace {
struct Tick {
  double value;
  bool isMajor;
};
} // namespace

/// About `count` round numbers along the axis.
static std::vector<Tick> getTicks(const ChartAxis &axis, double count) {
  std::vector<Tick> ticks;
  if (axis.isLog) {
    int first = std::floor(std::log10(axis.low)), last = std::ceil(std::log10(axis.high));
    // With few decades the digits between them get labels too.
    bool dense = last - first <= 2;
    int stride = std::max(1, (last - first) / 8);
    for (int decade = first; decade <= last; ++decade)
      for (int digit = 1; digit < 10; ++digit) {
        double value = digit * std::pow(10.0, decade);
        if (value < axis.low * (1 - 1e-9) || value > axis.high * (1 + 1e-9))
          continue;
        bool isMajor = digit == 1 ? (decade - first) % stride == 0
                                  : dense && (digit == 2 || digit == 5);
        ticks.push_back({value, isMajor});
      }
    return ticks;
  }
  double raw = (axis.high - axis.low) / count;
  double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = power * 10;
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  if (axis.isInteger)
    step = std::max(step, 1.0);
  if (axis.isExponent)
    step = std::exp2(std::ceil(std::log2(raw)));
  for (double k = std::ceil(axis.low / step - 1e-9); k * step <= axis.high + 1e-9 * step;
       ++k)
    ticks.push_back({k == 0 ? 0 : k * step, true});
  return ticks;
}

/// Where `value` lies on the axis, from 0 to 1.
static double toUnit(const ChartAxis &axis, double value) {
  double unit = axis.isLog ? (std::log10(value) - std::log10(axis.low)) /
                                 (std::log10(axis.high) - std::log10(axis.low))
                           : (value - axis.low) / (axis.high - axis.low);
  return std::min(std::max(unit, 0.0), 1.0);
}

Chart::Chart(ChartAxis x, ChartAxis y, double width, double height)
    : x(std::move(x)), y(std::move(y)), width(width - kLeft - kRight),
      height(height - kTop - kBottom) {}

double Chart::toX(double value) const { return toUnit(x, value) * width; }
double Chart::toY(double value) const { return (1 - toUnit(y, value)) * height; }

/// The begin of an element.
static std::string open(StringRef tag, StringRef kind, StringRef style) {
  return ("<" + tag + " class='" + kind + " " + style + "' ").str();
}

void Chart::addLine(StringRef style, const Points &points) {
  std::string path;
  bool penDown = false;
  size_t i = 0;
  while (i < points.size()) {
    if (!std::isfinite(points[i].second)) {
      penDown = false;
      ++i;
      continue;
    }
    int column = toX(points[i].first);
    size_t end = i, least = i, most = i;
    for (; end < points.size() && std::isfinite(points[end].second) &&
           int(toX(points[end].first)) == column;
         ++end) {
      if (points[end].second < points[least].second)
        least = end;
      if (points[end].second > points[most].second)
        most = end;
    }
    size_t kept[] = {i, std::min(least, most), std::max(least, most), end - 1};
    for (size_t k = 0; k < 4; ++k) {
      if (k > 0 && kept[k] == kept[k - 1])
        continue;
      path += (penDown ? "L" : "M") + px(toX(points[kept[k]].first)) + " " +
              px(toY(points[kept[k]].second));
      penDown = true;
    }
    i = end;
  }
  body += open("path", "line", style) + "d='" + path + "'/>\n";
}

static std::string makeTitle(StringRef text) {
  return text.empty() ? "" : "<title>" + escapeHTML(text) + "</title>";
}

void Chart::addBox(StringRef style, double left, double right, double bottom, double top,
                   StringRef title) {
  body += open("rect", "area", style) + "x='" + px(toX(left)) + "' y='" + px(toY(top)) +
          "' width='" + px(toX(right) - toX(left)) + "' height='" +
          px(toY(bottom) - toY(top)) + "'>" + makeTitle(title) + "</rect>\n";
}

void Chart::addDot(StringRef style, double atX, double atY, StringRef title) {
  body += open("circle", "area", style) + "cx='" + px(toX(atX)) + "' cy='" +
          px(toY(atY)) + "' r='3.5'>" + makeTitle(title) + "</circle>\n";
}

void Chart::addHorizontal(StringRef style, double at, StringRef title) {
  body += open("path", "line", style) + "d='M0 " + px(toY(at)) + "H" + px(width) + "'>" +
          makeTitle(title) + "</path>\n";
}

void Chart::addVertical(StringRef style, double at, StringRef title) {
  body += open("path", "line", style) + "d='M" + px(toX(at)) + " 0V" + px(height) + "'>" +
          makeTitle(title) + "</path>\n";
}

void Chart::addBand(StringRef name, double begin, double full, double end) {
  bands.push_back({name.str(), begin, full, end});
}

void Chart::addKey(StringRef style, StringRef text) {
  keys.push_back({style.str(), text.str()});
}

/// Writes the keys in rows from `top` on, and returns where they end. Without a stream
/// it measures them.
double Chart::printKeys(double top, llvm::raw_ostream *os) const {
  double left = kLeft;
  for (auto &[style, text] : keys) {
    const double needed = 48 + 6.8 * text.size();
    if (left > kLeft && left + needed > kLeft + width + kRight) {
      left = kLeft;
      top += 20;
    }
    if (os)
      *os << "<path class='line " << style << "' d='M" << px(left) << " " << px(top + 9)
          << "h30'/><text x='" << px(left + 36) << "' y='" << px(top + 13) << "'>"
          << escapeHTML(text) << "</text>\n";
    left += needed;
  }
  return keys.empty() ? top : top + 24;
}

/// The height of `count` bands below the axis, away from the label of its origin.
static double bandHeight(size_t count) { return count ? kBandGap + kBand * count : 0; }

void Chart::printTicks(llvm::raw_ostream &os) const {
  for (Tick tick : getTicks(y, height / 45)) {
    const std::string at = px(toY(tick.value));
    os << "<path class='" << (tick.isMajor ? "grid" : "minor") << "' d='M0 " << at << "H"
       << px(width) << "'/>";
    if (tick.isMajor)
      os << "<text class='end' x='-8' y='" << px(toY(tick.value) + 4) << "'>"
         << y.format(tick.value) << "</text>";
    os << "\n";
  }
  const double below = height + bandHeight(bands.size());
  for (Tick tick : getTicks(x, width / 60)) {
    const std::string at = px(toX(tick.value));
    os << "<path class='axis' d='M" << at << " " << px(below) << "v5'/>";
    if (tick.isMajor)
      os << "<text class='middle' x='" << at << "' y='" << px(below + 18) << "'>"
         << x.format(tick.value) << "</text>";
    os << "\n";
  }
  os << "<text class='middle' x='" << px(width / 2) << "' y='" << px(below + 37) << "'>"
     << escapeHTML(x.label) << "</text>\n<text class='middle' transform='translate("
     << px(16 - kLeft) << " " << px(height / 2) << ") rotate(-90)'>"
     << escapeHTML(y.label) << (y.isLog ? " (log scale)" : "") << "</text>\n";
}

void Chart::printBody(double top, llvm::raw_ostream &os) const {
  top = printKeys(top, &os);
  os << "<g transform='translate(" << px(kLeft) << " " << px(top) << ")'>\n";
  printTicks(os);
  os << body << "<path class='axis' d='M0 0V" << px(height) << "H" << px(width)
     << "'/>\n";
  double at = height + kBandGap;
  for (const Band &band : bands) {
    auto bar = [&](const char *style, double begin, double end) {
      os << "<rect class='area c0" << style << "' x='" << px(toX(begin)) << "' y='"
         << px(at + 4) << "' width='" << px(toX(end) - toX(begin)) << "' height='8'/>";
    };
    bar(" pale", band.begin, band.full);
    bar("", band.full, band.end);
    os << "<text class='small end' x='-8' y='" << px(at + 12) << "'>"
       << escapeHTML(band.name) << "</text>\n";
    at += kBand;
  }
  os << "</g>\n</svg>\n";
}

/// Okabe and Ito's colours, and lighter ones for dark pages.
static constexpr struct {
  const char *light, *dark;
} kColors[] = {{"#0072b2", "#56b4e9"}, {"#d55e00", "#ff9650"}, {"#009e73", "#35d3a7"},
               {"#cc79a7", "#e8a3c8"}, {"#e69f00", "#f5c75d"}, {"#56b4e9", "#a9d8f4"}};

static void printColors(bool isDark, llvm::raw_ostream &os) {
  for (unsigned i = 0; i < std::size(kColors); ++i) {
    const char *color = isDark ? kColors[i].dark : kColors[i].light;
    os << ".line.c" << i << "{stroke:" << color << "}.area.c" << i << "{fill:" << color
       << "}";
  }
  os << "\n";
}

static void printChartStyle(llvm::raw_ostream &os) {
  os << "svg text{font:13px sans-serif;fill:#333}svg .small{font-size:10px}"
        ".end{text-anchor:end}.middle{text-anchor:middle}"
        ".line{fill:none;stroke-width:1.8;stroke-linejoin:round}"
        ".dashed{stroke-dasharray:7 4}.dotted{stroke-dasharray:3 "
        "4}.edged{stroke:#fff;stroke-width:.4}.pale{opacity:.35}"
        ".grid,.minor,.axis{fill:none;stroke:#ddd}.minor{stroke:#f0f0f0}"
        ".axis{stroke:#333}.line.muted{stroke:#aaa}.area.muted{fill:#aaa}\n";
  printColors(/*isDark=*/false, os);
  os << "@media(prefers-color-scheme:dark){svg text{fill:#ccc}.grid{stroke:#444}"
        ".minor{stroke:#333}.axis{stroke:#ccc}.line.muted{stroke:#777}"
        ".area.muted{fill:#777}\n";
  printColors(/*isDark=*/true, os);
  os << "}\n";
}

static void printOpening(double width, double height, const char *attributes,
                         llvm::raw_ostream &os) {
  os << "<svg " << attributes << "width='" << px(width) << "' height='" << px(height)
     << "' viewBox='0 0 " << px(width) << " " << px(height) << "'>\n";
}

void Chart::print(llvm::raw_ostream &os) const {
  printOpening(kLeft + width + kRight,
               printKeys(kTop, nullptr) + height + bandHeight(bands.size()) + kBottom, "",
               os);
  printBody(kTop, os);
}

void Chart::printFile(StringRef title, llvm::raw_ostream &os) const {
  const double top = kTop + 30;
  printOpening(kLeft + width + kRight,
               printKeys(top, nullptr) + height + bandHeight(bands.size()) + kBottom,
               "xmlns='http://www.w3.org/2000/svg' ", os);
  os << "<style>\n.paper{fill:#fff}svg .title{font-size:17px}\n";
  printChartStyle(os);
  os << "@media(prefers-color-scheme:dark){.paper{fill:#1c1c1e}}\n</style>\n"
     << "<rect class='paper' width='100%' height='100%'/>\n<text class='title middle' x='"
     << px(kLeft + width / 2) << "' y='28'>" << escapeHTML(title) << "</text>\n";
  printBody(top, os);
}

HtmlPage::HtmlPage(StringRef title, llvm::raw_ostream &os) : os(os) {
  os << "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        "<meta name='color-scheme' content='light dark'><title>"
     << escapeHTML(title)
     << "</title><style>\n"
        "body{font:14px sans-serif;margin:2em;color:#222;background:#fff}"
        ".grid-of-cards{display:grid;gap:1em;align-items:start;"
        "grid-template-columns:repeat(auto-fill,minmax(min(100%,30em),1fr))}"
        ".card{border:1px solid #ddd;border-radius:6px;padding:.7em 1em;overflow:auto}"
        ".wide{grid-column:1/-1}h3{margin:0 0 .4em;font-size:14px}p{margin:.3em "
        "0}body>p{margin:1em 0}"
        "small{font-weight:normal;color:#666}.card>svg{width:100%;max-width:48em;height:"
        "auto}"
        "table{border-collapse:collapse}"
        "td,th{padding:2px 10px;text-align:left;border-bottom:1px solid #ddd}"
        ".n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.bad{"
        "color:#b00020}"
        "rect.area:hover{stroke:#000;stroke-width:1.5}\n";
  printChartStyle(os);
  os << "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1c1c1e}"
        ".card,td,th{border-color:#444}small{color:#999}.bad{color:#ff8a80}"
        "rect.area:hover{stroke:#fff}}\n</style></head><body>\n<h1>"
     << escapeHTML(title) << "</h1>\n";
}

HtmlPage::~HtmlPage() {
  endGrid();
  os << "</body></html>\n";
}

void HtmlPage::endGrid() {
  if (inGrid)
    os << "</div>\n";
  inGrid = false;
}

void HtmlPage::addSection(StringRef heading, StringRef text) {
  endGrid();
  os << "<h2>" << escapeHTML(heading) << "</h2>\n";
  if (!text.empty())
    os << "<p>" << escapeHTML(text) << "</p>\n";
  os << "<div class='grid-of-cards'>\n";
  inGrid = true;
}

void HtmlPage::beginCard(StringRef heading, StringRef place, bool isWide) {
  os << "<div class='card" << (isWide ? " wide" : "") << "'><h3>" << escapeHTML(heading);
  if (!place.empty())
    os << " <small>" << escapeHTML(place) << "</small>";
  os << "</h3>\n";
}

void HtmlPage::endCard() { os << "</div>\n"; }

void HtmlPage::addTable(ArrayRef<StringRef> heads,
                        ArrayRef<std::vector<std::string>> rows,
                        ArrayRef<unsigned> numbers) {
  auto cell = [&](const char *tag, unsigned column, StringRef text) {
    os << '<' << tag << (llvm::is_contained(numbers, column) ? " class='n'>" : ">")
       << escapeHTML(text) << "</" << tag << '>';
  };
  os << "<table><tr>";
  for (auto [column, head] : llvm::enumerate(heads))
    cell("th", column, head);
  os << "</tr>\n";
  for (const std::vector<std::string> &row : rows) {
    os << "<tr>";
    for (auto [column, text] : llvm::enumerate(row))
      cell("td", column, text);
    os << "</tr>\n";
  }
  os << "</table>\n";
}
