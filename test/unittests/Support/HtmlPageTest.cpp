//===- HtmlPageTest.cpp - Pages and charts ----------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Support/HtmlPage.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mpt;

static bool contains(llvm::StringRef text, llvm::StringRef part) {
  return text.contains(part);
}

static std::string print(const Chart &chart) {
  std::string text;
  llvm::raw_string_ostream os(text);
  chart.print(os);
  return text;
}

TEST(HtmlPageTest, TextCannotEndAnElementOrAnAttribute) {
  EXPECT_EQ(escapeHTML("<a b='c' d=\"e\"> & \x01\n"),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt; &amp; \n");
}

TEST(HtmlPageTest, BytesHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(999), "999 B");
  EXPECT_EQ(formatBytes(1000), "1 kB");
  EXPECT_EQ(formatBytes(1234567), "1.23 MB");
  EXPECT_EQ(formatBytes(5e15), "5e+03 TB");
}

TEST(HtmlPageTest, AxesHaveLabelsAndRoundTicks) {
  ChartAxis x, y;
  x.high = 3;
  x.label = "ops <in order>";
  x.isInteger = true;
  y.high = 2.5e6;
  y.label = "bytes";
  y.format = formatBytes;
  std::string text = print(Chart(x, y, 640, 300));
  EXPECT_TRUE(contains(text, ">ops &lt;in order&gt;</text>"));
  EXPECT_TRUE(contains(text, ">bytes</text>"));
  for (const char *tick : {">0<", ">1<", ">2<", ">3<", ">500 kB<", ">2.5 MB<"})
    EXPECT_TRUE(contains(text, tick)) << tick;
  EXPECT_FALSE(contains(text, ">0.5<")); // There is no half op.
}

TEST(HtmlPageTest, LogarithmicAxes) {
  ChartAxis x, y;
  y.low = 0.01;
  y.high = 100;
  y.isLog = true;
  y.label = "loss";
  Chart chart(x, y, 196, 158); // A plot of 100 by 100.
  chart.addDot("c0", 0.5, 1, "");
  std::string text = print(chart);
  EXPECT_TRUE(contains(text, ">loss (log scale)</text>"));
  EXPECT_TRUE(contains(text, "cx='50.0' cy='50.0'"));
}

TEST(HtmlPageTest, PlacesBeyondAnAxisAreDrawnAtItsEnd) {
  ChartAxis axis;
  Chart chart(axis, axis, 196, 158);
  chart.addBox("c1", -5, 0.25, 0, 9, "a & b");
  EXPECT_TRUE(contains(print(chart), "<rect class='area c1' x='0.0' y='0.0' width='25.0' "
                                     "height='100.0'><title>a &amp; b</title></rect>"));
}

TEST(HtmlPageTest, LinesKeepSpikesAndBreakAtNaN) {
  ChartAxis x, y;
  x.high = 100000;
  y.high = 10;
  Chart::Points points;
  for (int i = 0; i < 100000; ++i)
    points.emplace_back(i, i == 50000 ? 10.0 : i == 60000 ? std::nan("") : 1.0);
  Chart chart(x, y, 196, 158);
  chart.addLine("c0", points);
  std::string text = print(chart);
  EXPECT_LT(text.size(), 20000u);
  EXPECT_TRUE(contains(text, "50.0 0.0L")); // The spike.
  llvm::StringRef path = llvm::StringRef(text).split("class='line c0' d='").second;
  EXPECT_EQ(path.split("'").first.count('M'), 2u);
}

TEST(HtmlPageTest, KeysAndBandsMakeTheChartHigher) {
  ChartAxis axis;
  Chart chart(axis, axis);
  EXPECT_TRUE(contains(print(chart), "height='280.0'"));
  chart.addBand("f16", 0.1, 0.2, 0.8);
  EXPECT_TRUE(contains(print(chart), "height='302.0'"));
  chart.addKey("c0", "now");
  EXPECT_TRUE(contains(print(chart), "height='326.0'"));
  chart.addKey("c1", std::string(200, 'x')); // In a row of its own.
  EXPECT_TRUE(contains(print(chart), "height='346.0'"));
  EXPECT_TRUE(contains(print(chart), "<text class='small end' x='-8'"));
}

TEST(HtmlPageTest, PagesLoadNothingAndFollowTheReadersMode) {
  std::string text;
  llvm::raw_string_ostream os(text);
  {
    HtmlPage page("a < b", os);
    page.addSection("one", "first");
    page.beginCard("card", "file.mlir:3:5");
    page.addTable({"name", "bytes"}, {{"<w>", "12"}}, {1});
    page.endCard();
    page.addSection("two", "");
  }
  llvm::StringRef page(text);
  EXPECT_TRUE(page.ends_with("</div>\n</body></html>\n"));
  EXPECT_EQ(page.count("<div"), page.count("</div>"));
  EXPECT_TRUE(contains(page, "<h1>a &lt; b</h1>"));
  EXPECT_TRUE(contains(page, "<h3>card <small>file.mlir:3:5</small></h3>"));
  EXPECT_TRUE(contains(page, "<th>name</th><th class='n'>bytes</th>"));
  EXPECT_TRUE(contains(page, "<td>&lt;w&gt;</td><td class='n'>12</td>"));
  EXPECT_TRUE(contains(page, "prefers-color-scheme:dark"));
  for (const char *word : {"http", "<script", "src=", "href=", "url("})
    EXPECT_FALSE(contains(page, word)) << word;
}

TEST(HtmlPageTest, AChartIsAFileOfItsOwn) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Chart(ChartAxis(), ChartAxis()).printFile("a & b", os);
  llvm::StringRef file(text);
  EXPECT_TRUE(file.starts_with("<svg xmlns='http://www.w3.org/2000/svg' "));
  EXPECT_TRUE(file.ends_with("</svg>\n"));
  EXPECT_TRUE(contains(file, ">a &amp; b</text>"));
  EXPECT_TRUE(contains(file, "prefers-color-scheme:dark"));
}
