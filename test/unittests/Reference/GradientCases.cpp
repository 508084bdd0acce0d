//===- GradientCases.cpp - A function for every differentiable op -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"

#include <limits>

using namespace mpt::test;

using Arguments = std::vector<GradientArgument>;

namespace {

/// Collects cases; types in the text may leave out "tensor<" and ">".
class Cases {
public:
  /// y = op(arguments) {attributes} : (types) -> type, with further results of
  /// `more` types.
  void add(const std::string &op, const Arguments &arguments,
           const std::string &attributes, const std::string &type,
           const std::vector<std::string> &more = {}) {
    std::string names, types, results = "tensor<" + type + ">", defined = "%y";
    for (const GradientArgument &argument : arguments) {
      names += (names.empty() ? "%" : ", %") + argument.name;
      types += (types.empty() ? "tensor<" : ", tensor<") + argument.type + ">";
    }
    for (size_t i = 0; i < more.size(); ++i) {
      defined += ", %more" + std::to_string(i);
      results += ", tensor<" + more[i] + ">";
    }
    cases.push_back({"mpt." + op, arguments,
                     defined + " = mpt." + op + " " + names + " {" + attributes +
                         "} : (" + types + ") -> (" + results + ")",
                     type});
  }
  void unary(const std::string &op, double low = -2.0, double high = 2.0,
             const std::string &attributes = "") {
    add(op, {{"x", "3x4xf64", low, high}}, attributes, "3x4xf64");
  }
  /// All the ways in which two shapes broadcast.
  void binary(const std::string &op, double low = -2.0, double high = 2.0) {
    add(op, {{"a", "2x3xf64", low, high}, {"b", "2x3xf64", low, high}}, "", "2x3xf64");
    add(op, {{"a", "2x3xf64", low, high}, {"b", "3xf64", low, high}}, "", "2x3xf64");
    add(op, {{"a", "f64", low, high}, {"b", "2x3xf64", low, high}}, "", "2x3xf64");
    add(op, {{"a", "2x1x3xf64", low, high}, {"b", "2x1xf64", low, high}}, "",
        "2x2x3xf64");
    // Both operands one value.
    cases.push_back({"mpt." + op,
                     {{"x", "4xf64", low, high}},
                     "%z = mpt.exp %x : (tensor<4xf64>) -> tensor<4xf64>\n"
                     "%t = mpt." +
                         op +
                         " %z, %x : (tensor<4xf64>, tensor<4xf64>) -> "
                         "tensor<4xf64>\n"
                         "%y = mpt.mul %t, %x : (tensor<4xf64>, tensor<4xf64>) "
                         "-> tensor<4xf64>",
                     "4xf64"});
    // Narrow operands: Float64 mode rounds nothing, but the types differ.
    add(op, {{"a", "2x3xbf16", low, high}, {"b", "3xf32", low, high}}, "", "2x3xf64");
  }
  void text(const std::string &op, const Arguments &arguments, const std::string &body,
            const std::string &type) {
    cases.push_back({"mpt." + op, arguments, body, type});
  }

  std::vector<GradientCase> cases;
};

void addPointwise(Cases &c) {
  for (const char *op : {"neg", "abs", "exp", "tanh", "sigmoid", "erf", "sin", "cos",
                         "relu", "silu", "softplus", "sign"})
    c.unary(op);
  for (const char *op : {"log", "sqrt", "rsqrt", "reciprocal"})
    c.unary(op, 0.5, 3.0);
  c.unary("log1p", -0.5, 3.0);
  c.unary("reciprocal", -3.0, -0.5);
  c.unary("floor", 0.1, 0.9);
  c.unary("gelu");
  c.unary("gelu", -2.0, 2.0, "approximate = #mpt.gelu<tanh>");
  for (const char *op : {"add", "sub", "mul", "maximum", "minimum"})
    c.binary(op);
  c.binary("div", 0.5, 2.0);
  c.binary("pow", 0.5, 2.0);
  // Powers of zero.
  c.text("pow",
         {{"x", "4xf64"},
          {"m", "4xf64", 0, 0, {0, 0, 1, 1}},
          {"e", "4xf64", 0, 0, {0, 2, 0, 3}}},
         "%z = mpt.mul %x, %m : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>\n"
         "%y = mpt.pow %z, %e : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>",
         "4xf64");
  GradientArgument condition = {"c", "2x1xi1", 0, 0, {1, 0}};
  c.add("where", {condition, {"a", "2x3xf64"}, {"b", "f64"}}, "", "2x3xf64");
  c.add("where", {condition, {"a", "3xf64"}, {"b", "2x3xf64"}}, "", "2x3xf64");
  GradientArgument seed = {"seed", "i64", 0, 0, {7}};
  GradientArgument attempt = {"attempt", "i64", 0, 0, {3}};
  c.add("dropout", {{"x", "4x5xf64"}, seed, attempt},
        "rate = 0.4 : f64, stream = 2 : i64", "4x5xf64", {"4x5xi1"});
}

void addMatmuls(Cases &c) {
  for (bool tl : {false, true})
    for (bool tr : {false, true}) {
      std::string flags = tl && tr ? "transpose_lhs, transpose_rhs"
                          : tl     ? "transpose_lhs"
                          : tr     ? "transpose_rhs"
                                   : "";
      std::string l = tl ? "4x2xf64" : "2x4xf64", r = tr ? "3x4xf64" : "4x3xf64";
      c.add("matmul", {{"a", l}, {"b", r}}, flags, "2x3xf64");
      c.add("matmul", {{"a", "3x" + l}, {"b", "3x" + r}}, flags, "3x2x3xf64");
      // One matrix for the whole batch.
      c.add("matmul", {{"a", "2x3x" + l}, {"b", r}}, flags, "2x3x2x3xf64");
    }
  for (const char *epilogue : {"none", "relu", "gelu_tanh"}) {
    std::string attribute = "epilogue = #mpt.epilogue<" + std::string(epilogue) + ">";
    c.add("linear", {{"x", "4x3xf64"}, {"w", "3x2xf64"}, {"b", "2xf64"}}, attribute,
          "4x2xf64");
    c.add("linear", {{"x", "2x2x3xf64"}, {"w", "3x2xf64"}}, attribute, "2x2x2xf64");
    c.add("linear", {{"x", "2x2x3xf64"}, {"w", "4x3xf64"}, {"b", "4xf64"}},
          attribute + ", transpose_weight", "2x2x4xf64");
    c.add("conv2d", {{"x", "1x4x4x2xf64"}, {"f", "3x3x2x3xf64"}, {"b", "3xf64"}},
          attribute + ", padding = array<i64: 1, 1, 1, 1>", "1x4x4x3xf64");
  }
  c.add("conv2d", {{"x", "2x7x6x4xf64"}, {"f", "2x3x2x4xf64"}},
        "strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 2>, "
        "dilations = array<i64: 2, 2>, groups = 2 : i64",
        "2x3x4x4xf64");
  c.add("conv2d", {{"x", "2x7x6x4xf64"}, {"f", "4x2x2x3xf64"}, {"b", "4xf64"}},
        "strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 2>, "
        "dilations = array<i64: 2, 2>, groups = 2 : i64, oihw",
        "2x3x4x4xf64");
  // A stride that leaves pixels out.
  c.add("conv2d", {{"x", "1x6x6x1xf64"}, {"f", "2x2x1x2xf64"}},
        "strides = array<i64: 3, 3>", "1x2x2x2xf64");
  // As a forward op, a transposed convolution.
  c.add("conv2d_input_grad", {{"dy", "2x3x3x2xf64"}, {"f", "2x2x3x2xf64"}},
        "strides = array<i64: 2, 2>", "2x6x6x3xf64");
  c.add("conv2d_input_grad", {{"dy", "2x3x4x4xf64"}, {"f", "4x2x2x3xf64"}},
        "strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 2>, "
        "dilations = array<i64: 2, 2>, groups = 2 : i64, oihw",
        "2x7x6x4xf64");
  // As a forward op, a gradient that a loss reads.
  c.add("conv2d_filter_grad", {{"x", "2x5x6x3xf64"}, {"dy", "2x4x5x2xf64"}}, "",
        "2x2x3x2xf64");
  c.add("conv2d_filter_grad", {{"x", "2x7x6x4xf64"}, {"dy", "2x3x4x4xf64"}},
        "strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 2>, "
        "dilations = array<i64: 2, 2>, groups = 2 : i64, oihw",
        "4x2x2x3xf64");
  c.add("conv2d_filter_grad", {{"x", "1x6x6x1xf64"}, {"dy", "1x2x2x2xf64"}},
        "strides = array<i64: 3, 3>", "2x2x1x2xf64");
  c.add("max_pool_grad", {{"dy", "2x3x2x3xf64"}, {"x", "2x6x5x3xf64"}},
        "window = array<i64: 2, 3>, strides = array<i64: 2, 2>", "2x6x5x3xf64");
  c.add("max_pool_grad", {{"dy", "1x3x4x2xf64"}, {"x", "1x5x4x2xf64"}},
        "window = array<i64: 3, 2>, strides = array<i64: 2, 1>, "
        "padding = array<i64: 1, 1, 1, 0>",
        "1x5x4x2xf64");
  // Windows of -infinity, whose first elements lie after padding.
  c.add("max_pool_grad",
        {{"dy", "1x3x2x1xf64"},
         {"x", "1x4x3x1xf64", 0, 0,
          std::vector<double>(12, -std::numeric_limits<double>::infinity())}},
        "window = array<i64: 3, 3>, strides = array<i64: 2, 2>, "
        "padding = array<i64: 2, 1, 1, 1>",
        "1x4x3x1xf64");
  c.add("attention", {{"q", "2x1x3x4xf64"}, {"k", "2x1x5x4xf64"}, {"v", "2x1x5x2xf64"}},
        "", "2x1x3x2xf64", {"2x1x3xf64"});
  c.add("attention", {{"q", "1x2x3x4xf64"}, {"k", "1x2x5x4xf64"}, {"v", "1x2x5x2xf64"}},
        "causal, scale = 0.3 : f64", "1x2x3x2xf64", {"1x2x3xf64"});
  // Masks: of padding, the second sequence all of it; of everything and causal, with a
  // row that sees nothing.
  GradientArgument padding = {"m", "2x1x1x3xi1", 0, 0, {1, 1, 0, 0, 0, 0}};
  c.add("attention",
        {{"q", "2x2x2x4xf64"}, {"k", "2x2x3x4xf64"}, {"v", "2x2x3x2xf64"}, padding}, "",
        "2x2x2x2xf64", {"2x2x2xf64"});
  GradientArgument mask = {"m", "1x1x3x4xi1", 0, 0, {0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0}};
  c.add("attention",
        {{"q", "1x2x3x4xf64"}, {"k", "1x2x4x4xf64"}, {"v", "1x2x4x2xf64"}, mask},
        "causal", "1x2x3x2xf64", {"1x2x3xf64"});
  // Two heads of keys and values for four of queries, a bias of each shape that
  // broadcasts, and dropout.
  GradientArgument seed = {"seed", "i64", 0, 0, {7}};
  GradientArgument attempt = {"attempt", "i64", 0, 0, {3}};
  c.add("attention", {{"q", "2x4x3x2xf64"}, {"k", "2x2x3x2xf64"}, {"v", "2x2x3x3xf64"}},
        "causal", "2x4x3x3xf64", {"2x4x3xf64"});
  for (std::string bias : {"2x2x3x4", "1x2x3x4", "2x1x1x4", "1x1x1x1"})
    c.text("attention",
           {{"q", "2x2x3x2xf64"},
            {"k", "2x1x4x2xf64"},
            {"v", "2x1x4x2xf64"},
            {"b", bias + "xf64"}},
           "%y, %l = mpt.attention %q, %k, %v bias(%b) : (tensor<2x2x3x2xf64>, "
           "tensor<2x1x4x2xf64>, tensor<2x1x4x2xf64>, tensor<" +
               bias + "xf64>) -> (tensor<2x2x3x2xf64>, tensor<2x2x3xf64>)",
           "2x2x3x2xf64");
  c.text("attention",
         {{"q", "1x2x3x2xf64"},
          {"k", "1x2x4x2xf64"},
          {"v", "1x2x4x2xf64"},
          mask,
          {"b", "1x2x3x4xf64"},
          seed,
          attempt},
         "%y, %l = mpt.attention %q, %k, %v, %m bias(%b) rng(%seed, %attempt) {causal, "
         "dropout = 0.4 : f64, stream = 2 : i64} : (tensor<1x2x3x2xf64>, "
         "tensor<1x2x4x2xf64>, tensor<1x2x4x2xf64>, tensor<1x1x3x4xi1>, "
         "tensor<1x2x3x4xf64>, tensor<i64>, tensor<i64>) -> (tensor<1x2x3x2xf64>, "
         "tensor<1x2x3xf64>)",
         "1x2x3x2xf64");
  c.text("attention", {{"x", "1x1x4x3xf64"}},
         "%y, %l = mpt.attention %x, %x, %x {causal} : (tensor<1x1x4x3xf64>, "
         "tensor<1x1x4x3xf64>, tensor<1x1x4x3xf64>) -> (tensor<1x1x4x3xf64>, "
         "tensor<1x1x4xf64>)",
         "1x1x4x3xf64");
}

void addCells(Cases &c) {
  Arguments cell = {{"x", "3x2xf64"},
                    {"h", "3x2xf64"},
                    {"c", "3x2xf64"},
                    {"w", "2x8xf64"},
                    {"u", "2x8xf64"}};
  c.add("lstm_cell", cell, "", "3x2xf64", {"3x2xf64", "3x8xf64"});
  cell.push_back({"b", "8xf64"});
  c.add("lstm_cell", cell, "", "3x2xf64", {"3x2xf64", "3x8xf64"});
  // As PyTorch stores the weights, of an input of another width.
  c.add("lstm_cell",
        {{"x", "3x5xf64"},
         {"h", "3x2xf64"},
         {"c", "3x2xf64"},
         {"w", "8x5xf64"},
         {"u", "8x2xf64"},
         {"b", "8xf64"}},
        "transpose_weights", "3x2xf64", {"3x2xf64", "3x8xf64"});
  // Two steps, whose states are used twice, and the last cell state alone.
  std::string types = "(tensor<3x2xf64>, tensor<3x2xf64>, tensor<3x2xf64>, "
                      "tensor<2x8xf64>, tensor<2x8xf64>, tensor<8xf64>) -> "
                      "(tensor<3x2xf64>, tensor<3x2xf64>, tensor<3x8xf64>)\n";
  std::string steps =
      "%h1, %c1, %g1 = mpt.lstm_cell %x, %h, %c, %w, %u, %b : " + types +
      "%h2, %c2, %g2 = mpt.lstm_cell %h1, %h1, %c1, %w, %u, %b : " + types;
  c.text("lstm_cell", cell,
         steps + "%y = mpt.mul %h2, %c2 : (tensor<3x2xf64>, tensor<3x2xf64>) -> "
                 "tensor<3x2xf64>",
         "3x2xf64");
  c.text("lstm_cell", cell,
         steps + "%y = mpt.exp %c2 : (tensor<3x2xf64>) -> tensor<3x2xf64>", "3x2xf64");
}

void addShapes(Cases &c) {
  c.add("cast", {{"x", "3x4xf32"}}, "", "3x4xf64");
  c.add("cast", {{"x", "3x4xf64"}}, "", "3x4xbf16");
  c.add("reshape", {{"x", "3x4xf64"}}, "", "2x6xf64");
  c.add("transpose", {{"x", "2x3x4xf64"}}, "permutation = array<i64: 2, 0, 1>",
        "4x2x3xf64");
  c.add("broadcast", {{"x", "3x1xf64"}}, "", "2x3x4xf64");
  c.add("broadcast", {{"x", "f64"}}, "", "2x3xf64");
  c.add("slice", {{"x", "5x7xf64"}},
        "offsets = array<i64: 1, 1>, sizes = array<i64: 3, 2>, "
        "strides = array<i64: 1, 3>",
        "3x2xf64");
  c.add("slice", {{"x", "5x7xf64"}},
        "offsets = array<i64: 0, 2>, sizes = array<i64: 5, 5>, "
        "strides = array<i64: 1, 1>",
        "5x5xf64");
  c.add("concat", {{"a", "2x3xf64"}, {"b", "2x1xf64"}, {"d", "2x2xf64"}},
        "axis = 1 : i64", "2x6xf64");
  c.add("pad", {{"x", "2x3xf64"}},
        "low = array<i64: 1, 0>, high = array<i64: 0, 2>, "
        "interior = array<i64: 2, 1>, value = 1.5 : f64",
        "5x7xf64");
  c.add("pad", {{"x", "2x3xf64"}}, "low = array<i64: 0, 1>, high = array<i64: 1, 0>",
        "3x4xf64");
  GradientArgument ids = {"ids", "2x3xi32", 0, 0, {4, 0, 4, 1, 4, 2}};
  c.add("gather", {{"t", "5x3xf64"}, ids}, "", "2x3x3xf64");
  c.add("scatter_add", {ids, {"u", "2x3x4xf64"}}, "", "5x4xf64");
  c.add("scatter_add", {ids, {"u", "2x3x4xf64"}, {"t", "5x4xf64"}}, "", "5x4xf64");
  for (const char *kind : {"max", "min", "prod"})
    c.add("scatter_reduce", {ids, {"u", "2x3x4xf64"}, {"t", "5x4xf64"}},
          "kind = #mpt.reduce_kind<" + std::string(kind) + ">", "5x4xf64");
  // Products with one zero, and with two.
  GradientArgument zeros = {
      "zeros", "6x2xf64", 0, 0, {0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1}};
  c.text(
      "scatter_reduce",
      {{"rows", "6xi32", 0, 0, {4, 0, 4, 1, 4, 2}},
       zeros,
       {"u", "6x2xf64"},
       {"t", "5x2xf64"}},
      "%z = mpt.mul %u, %zeros : (tensor<6x2xf64>, tensor<6x2xf64>) -> tensor<6x2xf64>\n"
      "%y = mpt.scatter_reduce %rows, %z, %t {kind = #mpt.reduce_kind<prod>} : "
      "(tensor<6xi32>, tensor<6x2xf64>, tensor<5x2xf64>) -> tensor<5x2xf64>",
      "5x2xf64");
  c.add("stop_gradient", {{"x", "3x4xf64"}}, "", "3x4xf64");
  c.add("barrier", {{"x", "3x4xf64"}}, "", "3x4xf64");
  c.text("barrier", {{"x", "3xf64"}, {"z", "3xf64"}},
         "%a, %b = mpt.barrier %x, %z : (tensor<3xf64>, tensor<3xf64>) -> "
         "(tensor<3xf64>, tensor<3xf64>)\n"
         "%y = mpt.mul %a, %a : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>",
         "3xf64");
}

void addReductions(Cases &c) {
  for (const char *kind : {"sum", "mean", "max", "min", "prod"}) {
    std::string attribute = "kind = #mpt.reduce_kind<" + std::string(kind) + ">, ";
    c.add("reduce", {{"x", "2x3x4xf64"}}, attribute + "axes = array<i64: 0, 2>", "3xf64");
    c.add("reduce", {{"x", "2x3x4xf64"}}, attribute + "axes = array<i64: 1>, keep_dims",
          "2x1x4xf64");
    c.add("reduce", {{"x", "2x2xf64"}}, attribute + "axes = array<i64: 0, 1>", "f64");
  }
  // Products with one zero and with two.
  c.text("reduce", {{"x", "2x3xf64"}, {"m", "2x3xf64", 0, 0, {1, 0, 1, 0, 1, 0}}},
         "%z = mpt.mul %x, %m : (tensor<2x3xf64>, tensor<2x3xf64>) -> "
         "tensor<2x3xf64>\n"
         "%y = mpt.reduce %z {kind = #mpt.reduce_kind<prod>, axes = array<i64: "
         "1>} : (tensor<2x3xf64>) -> tensor<2xf64>",
         "2xf64");
  c.text("reduce", {{"x", "2x3xf64"}, {"m", "2x3xf64", 0, 0, {1, 2, 1, 1, 0.5, 1}}},
         "%o = mpt.slice %x {offsets = array<i64: 0, 0>, sizes = array<i64: 2, "
         "1>, strides = array<i64: 1, 1>} : (tensor<2x3xf64>) -> tensor<2x1xf64>\n"
         "%z = mpt.sub %x, %o : (tensor<2x3xf64>, tensor<2x1xf64>) -> "
         "tensor<2x3xf64>\n"
         "%y = mpt.reduce %z {kind = #mpt.reduce_kind<prod>, axes = array<i64: "
         "1>} : (tensor<2x3xf64>) -> tensor<2xf64>",
         "2xf64");
  c.unary("softmax");
  c.unary("log_softmax");
}

void addNorms(Cases &c) {
  GradientArgument x = {"x", "3x4xf64"}, gamma = {"g", "4xf64", 0.5, 1.5},
                   beta = {"b", "4xf64"};
  c.add("layer_norm", {x, gamma, beta}, "eps = 1.0e-2 : f64", "3x4xf64",
        {"3xf64", "3xf64"});
  c.add("rms_norm", {x, gamma}, "eps = 1.0e-2 : f64", "3x4xf64", {"3xf64"});
  GradientArgument image = {"x", "2x2x2x3xf64"}, scale = {"g", "3xf64", 0.5, 1.5},
                   shift = {"b", "3xf64"};
  GradientArgument mean = {"m", "3xf64", 0, 0, {0.1, 0.2, 0.3}};
  GradientArgument var = {"v", "3xf64", 0, 0, {0.5, 1.0, 1.5}};
  c.add("batch_norm", {image, scale, shift, mean, var},
        "eps = 1.0e-2 : f64, momentum = 0.1 : f64", "2x2x2x3xf64",
        {"3xf64", "3xf64", "3xf64", "3xf64"});
  c.add("batch_norm_inference", {image, scale, shift, mean, var}, "eps = 1.0e-2 : f64",
        "2x2x2x3xf64");
}

void addPooling(Cases &c) {
  GradientArgument x = {"x", "2x5x4x2xf64"};
  std::string even = "window = array<i64: 2, 2>, strides = array<i64: 2, 2>";
  // Windows that overlap and reach over the border.
  std::string overlap = "window = array<i64: 3, 2>, strides = array<i64: 1, 2>, "
                        "padding = array<i64: 1, 2, 1, 1>";
  c.add("max_pool", {x}, even, "2x2x2x2xf64");
  c.add("max_pool", {x}, overlap, "2x6x3x2xf64");
  c.add("avg_pool", {x}, even, "2x2x2x2xf64");
  c.add("avg_pool", {x}, overlap, "2x6x3x2xf64");
  c.add("avg_pool", {x}, overlap + ", count_include_pad", "2x6x3x2xf64");
}

void addLosses(Cases &c) {
  GradientArgument x = {"x", "2x3x4xf64"};
  GradientArgument labels = {"t", "2x3xi64", 0, 0, {0, 3, 2, 2, 1, 0}};
  for (const char *reduction : {"mean", "sum"}) {
    std::string attribute =
        "reduction = #mpt.loss_reduction<" + std::string(reduction) + ">";
    c.add("cross_entropy", {x, labels}, attribute, "f64", {"2x3xf64"});
    c.add("cross_entropy", {x, labels},
          attribute + ", label_smoothing = 0.2 : f64, ignore_index = 2 : i64", "f64",
          {"2x3xf64"});
    c.add("mse_loss", {{"p", "3x2xf64"}, {"t", "3x2xf64"}}, attribute, "f64");
  }
}

/// A recurrence of a carried value, a carried sum, a stacked input and a matrix from
/// above; what follows reads `results` of: the last values and the stacked ones.
void addScans(Cases &c) {
  const Arguments arguments = {{"c", "2xf64"}, {"x", "6x2xf64"}, {"w", "2x2xf64"}};
  auto scan = [](const std::string &direction, const std::string &attributes) {
    return "%v = mpt.tanh %w : (tensor<2x2xf64>) -> tensor<2x2xf64>\n"
           "%s0 = mpt.constant dense<0.0> : tensor<2xf64>\n"
           "%h, %s, %hs, %ps = mpt.scan 6 " +
           direction +
           " carry(%c, %s0 : tensor<2xf64>, tensor<2xf64>) over(%x : tensor<6x2xf64>) {\n"
           "^bb0(%g: tensor<2xf64>, %t: tensor<2xf64>, %e: tensor<2xf64>):\n"
           "%r = mpt.reshape %g : (tensor<2xf64>) -> tensor<1x2xf64>\n"
           "%m = mpt.matmul %r, %v : (tensor<1x2xf64>, tensor<2x2xf64>) -> "
           "tensor<1x2xf64>\n"
           "%q = mpt.reshape %m : (tensor<1x2xf64>) -> tensor<2xf64>\n"
           "%half = mpt.constant dense<0.5> : tensor<2xf64>\n"
           "%d = mpt.mul %q, %half : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>\n"
           "%n = mpt.checkpoint {\n"
           "%a = mpt.add %d, %e : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>\n"
           "%b = mpt.sin %a : (tensor<2xf64>) -> tensor<2xf64>\n"
           "mpt.yield %b : tensor<2xf64>\n"
           "} : tensor<2xf64>\n"
           "%p = mpt.mul %n, %e : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>\n"
           "%u = mpt.add %t, %p : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>\n"
           "mpt.yield %n, %u, %n, %p : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, "
           "tensor<2xf64>\n"
           "}" +
           attributes +
           " : tensor<2xf64>, tensor<2xf64>, tensor<6x2xf64>, tensor<6x2xf64>\n";
  };
  const std::string vector = "(tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>",
                    matrix = "(tensor<6x2xf64>, tensor<6x2xf64>) -> tensor<6x2xf64>";
  for (const char *direction : {"", "reverse"})
    for (const char *attributes :
         {"", " {checkpoint_every = 1 : i64}", " {checkpoint_every = 2 : i64}",
          " {checkpoint_every = 6 : i64}"}) {
      // All results, some twice; the last values alone; one stacked result alone.
      c.text("scan", arguments,
             scan(direction, attributes) + "%k = mpt.mul %hs, %ps : " + matrix +
                 "\n%l = mpt.mul %h, %s : " + vector +
                 "\n%y = mpt.add %k, %l : (tensor<6x2xf64>, tensor<2xf64>) -> "
                 "tensor<6x2xf64>",
             "6x2xf64");
      c.text("scan", arguments,
             scan(direction, attributes) + "%y = mpt.mul %s, %s : " + vector, "2xf64");
      c.text("scan", arguments,
             scan(direction, attributes) + "%y = mpt.mul %hs, %hs : " + matrix,
             "6x2xf64");
    }
  // A scan in a scan, whose body reads values of both bodies and of the function.
  for (const char *attributes : {"", " {checkpoint_every = 2 : i64}"})
    c.text("scan", {{"c", "2xf64"}, {"x", "4x3x2xf64"}, {"w", "2xf64"}},
           "%h, %hs = mpt.scan 4 carry(%c : tensor<2xf64>) over(%x : tensor<4x3x2xf64>) "
           "{\n"
           "^bb0(%g: tensor<2xf64>, %rows: tensor<3x2xf64>):\n"
           "%f = mpt.sin %g : (tensor<2xf64>) -> tensor<2xf64>\n"
           "%i, %is = mpt.scan 3 reverse carry(%g : tensor<2xf64>) over(%rows : "
           "tensor<3x2xf64>) {\n"
           "^bb0(%j: tensor<2xf64>, %e: tensor<2xf64>):\n"
           "%p = mpt.mul %j, %w : " +
               vector + "\n%q = mpt.mul %e, %f : " + vector +
               "\n%r = mpt.add %p, %q : " + vector +
               "\n%n = mpt.sin %r : (tensor<2xf64>) -> tensor<2xf64>\n"
               "mpt.yield %n, %r : tensor<2xf64>, tensor<2xf64>\n"
               "} : tensor<2xf64>, tensor<3x2xf64>\n"
               "%o = mpt.mul %i, %w : " +
               vector +
               "\nmpt.yield %o, %is : tensor<2xf64>, tensor<3x2xf64>\n"
               "}" +
               attributes +
               " : tensor<2xf64>, tensor<4x3x2xf64>\n"
               "%y = mpt.mul %hs, %h : (tensor<4x3x2xf64>, tensor<2xf64>) -> "
               "tensor<4x3x2xf64>",
           "4x3x2xf64");
  // A scan that is computed again as a whole.
  c.text("scan", {{"c", "2xf64"}, {"x", "3x2xf64"}},
         "%y = mpt.checkpoint {\n"
         "%h, %hs = mpt.scan 3 carry(%c : tensor<2xf64>) over(%x : tensor<3x2xf64>) {\n"
         "^bb0(%g: tensor<2xf64>, %e: tensor<2xf64>):\n"
         "%p = mpt.mul %g, %e : " +
             vector +
             "\n%n = mpt.sin %p : (tensor<2xf64>) -> tensor<2xf64>\n"
             "mpt.yield %n, %p : tensor<2xf64>, tensor<2xf64>\n"
             "} : tensor<2xf64>, tensor<3x2xf64>\n"
             "%k = mpt.mul %hs, %h : (tensor<3x2xf64>, tensor<2xf64>) -> "
             "tensor<3x2xf64>\n"
             "mpt.yield %k : tensor<3x2xf64>\n"
             "} : tensor<3x2xf64>",
         "3x2xf64");
  // What is carried is passed on, exchanged, or replaced by a value from above.
  c.text("scan", {{"a", "2xf64"}, {"b", "2xf64"}, {"w", "2xf64"}},
         "%p, %q, %r = mpt.scan 3 carry(%a, %b, %a : tensor<2xf64>, tensor<2xf64>, "
         "tensor<2xf64>) {\n"
         "^bb0(%d: tensor<2xf64>, %e: tensor<2xf64>, %f: tensor<2xf64>):\n"
         "%g = mpt.mul %d, %f : " +
             vector +
             "\nmpt.yield %e, %g, %w : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>\n"
             "} : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>\n"
             "%s = mpt.mul %p, %q : " +
             vector + "\n%y = mpt.mul %s, %r : " + vector,
         "2xf64");
}

void addCollectives(Cases &c) {
  const std::string axis = "axis = \"data\"";
  c.add("all_reduce", {{"x", "2x3xf64"}}, axis, "2x3xf64");
  c.add("reduce_scatter", {{"x", "2x3xf64"}},
        axis + ", kind = #mpt.collective_kind<mean>", "2x3xf64");
  c.add("all_gather", {{"x", "2x3xf64"}}, axis, "2x3xf64");
  c.add("all_to_all", {{"x", "2x3xf64"}}, axis, "2x3xf64");
  c.add("broadcast_from", {{"x", "2x3xf64"}}, axis + ", root = 0 : i64", "2x3xf64");
}

} // namespace

std::vector<GradientCase> mpt::test::getGradientCases() {
  Cases c;
  addPointwise(c);
  addMatmuls(c);
  addCells(c);
  addShapes(c);
  addReductions(c);
  addNorms(c);
  addPooling(c);
  addLosses(c);
  addScans(c);
  addCollectives(c);
  return std::move(c.cases);
}
