//===- Recurrent.cpp - Torch's recurrent layers as scans over time -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

namespace {
/// The tensors of one layer and direction; the biases may be null, and so is what an LSTM
/// with `proj_size` projects its hidden state by, [projected, hidden], in other layers.
struct Layer {
  Value weightIh, weightHh, biasIh, biasHh, projection;
};

/// How a layer runs: what is done for all time steps at once, and one step.
struct Cell {
  Layer (*prepare)(Lowering &, const Layer &);
  /// Of one x, or of all.
  Value (*project)(Lowering &, const Layer &prepared, Value x);
  /// Reads a projected x and the states, replaces the states.
  void (*run)(Lowering &, const Layer &prepared, Value x, SmallVectorImpl<Value> &states);
};
} // namespace

static Layer keepLayer(Lowering &, const Layer &layer) { return layer; }

/// The sum of the biases as the first.
static Layer sumBiases(Lowering &l, const Layer &layer) {
  Layer prepared = layer;
  if (layer.biasIh)
    prepared.biasIh = l.add(layer.biasIh, layer.biasHh);
  return prepared;
}

static Value projectInput(Lowering &l, const Layer &layer, Value x) {
  return l.linear(x, layer.weightIh, layer.biasIh);
}

/// `mpt.lstm_cell` has the input's matmul inside.
static Value keepInput(Lowering &, const Layer &, Value x) { return x; }

static void runLSTM(Lowering &l, const Layer &layer, Value x,
                    SmallVectorImpl<Value> &states) {
  Value h = states[0], c = states[1];
  auto gates = getType(h).clone({getShape(h)[0], getShape(layer.weightHh)[0]});
  auto cell = LSTMCellOp::create(l.builder, l.loc, h.getType(), c.getType(), gates, x, h,
                                 c, layer.weightIh, layer.weightHh, layer.biasIh,
                                 TypeAttr(), /*transpose_weights=*/true);
  states[0] = cell.getNewH();
  states[1] = cell.getNewC();
}

/// An LSTM whose hidden state is the projection of what another's is (Sak et al. 2014).
static void runProjectedLSTM(Lowering &l, const Layer &layer, Value fromX,
                             SmallVectorImpl<Value> &states) {
  int64_t hidden = getShape(states[1])[1];
  Value gates = l.add(fromX, l.linear(states[0], layer.weightHh, Value()));
  auto gate = [&](int64_t index) { return l.slice(gates, 1, index * hidden, hidden); };
  Value input = l.unary<SigmoidOp>(gate(0)), forget = l.unary<SigmoidOp>(gate(1)),
        candidate = l.unary<TanhOp>(gate(2)), output = l.unary<SigmoidOp>(gate(3));
  states[1] = l.add(l.mul(forget, states[1]), l.mul(input, candidate));
  states[0] = l.linear(l.mul(output, l.unary<TanhOp>(states[1])), layer.projection, {});
}

static void runGRU(Lowering &l, const Layer &layer, Value fromX,
                   SmallVectorImpl<Value> &states) {
  Value h = states[0];
  int64_t hidden = getShape(h)[1];
  Value fromH = l.linear(h, layer.weightHh, layer.biasHh);
  auto gate = [&](Value value, int64_t index) {
    return l.slice(value, 1, index * hidden, hidden);
  };
  Value reset = l.unary<SigmoidOp>(l.add(gate(fromX, 0), gate(fromH, 0)));
  Value update = l.unary<SigmoidOp>(l.add(gate(fromX, 1), gate(fromH, 1)));
  Value next = l.unary<TanhOp>(l.add(gate(fromX, 2), l.mul(reset, gate(fromH, 2))));
  states[0] = l.add(next, l.mul(update, l.sub(h, next)));
}

template <typename Activation>
static void runSimple(Lowering &l, const Layer &layer, Value fromX,
                      SmallVectorImpl<Value> &states) {
  states[0] = l.unary<Activation>(
      l.add(fromX, l.linear(states[0], layer.weightHh, layer.biasHh)));
}

static constexpr Cell lstm = {sumBiases, keepInput, runLSTM};
static constexpr Cell projectedLstm = {sumBiases, projectInput, runProjectedLSTM};
static constexpr Cell gru = {keepLayer, projectInput, runGRU};
static constexpr Cell tanhCell = {keepLayer, projectInput, runSimple<TanhOp>};
static constexpr Cell reluCell = {keepLayer, projectInput, runSimple<ReluOp>};

/// After how many of `steps` iterations the backward pass keeps what is carried, if the
/// function asks for it: the divisor with which that, and what a group of iterations
/// keeps, takes least. An iteration of an LSTM keeps some four times what it carries.
static IntegerAttr getCheckpointEvery(Lowering &l, int64_t steps) {
  // Planning unrolls up to 16 iterations, and repeats each as it needs.
  if (!l.graph.function->hasAttr(kCheckpointScansAttr) || steps <= 16)
    return {};
  int64_t best = 1;
  auto cost = [&](int64_t every) { return steps / every + 4 * every; };
  for (int64_t every = 1; every <= steps; ++every)
    if (steps % every == 0 && cost(every) < cost(best))
      best = every;
  return l.builder.getI64IntegerAttr(best);
}

/// Runs `cell` over `sequence` [T, B, I], from the last step to the first with
/// `reverse`. Replaces the states and returns the hidden states [T, B, H].
static Value runOverTime(Lowering &l, const Cell &cell, const Layer &given,
                         Value sequence, bool reverse, SmallVectorImpl<Value> &states) {
  const Layer layer = cell.prepare(l, given);
  sequence = cell.project(l, layer, sequence);
  SmallVector<Type> types;
  for (Value state : states)
    types.push_back(state.getType());
  auto type = getType(sequence);
  const int64_t steps = type.getDimSize(0);
  Shape hidden(getShape(states[0]));
  hidden.insert(hidden.begin(), steps);
  types.push_back(getType(states[0]).clone(hidden));
  auto scan = ScanOp::create(l.builder, l.loc, types, uint64_t(steps), reverse, states,
                             sequence, getCheckpointEvery(l, steps));
  Block &body = scan.getBody().emplaceBlock();
  for (Value state : states)
    body.addArgument(state.getType(), l.loc);
  Value x = body.addArgument(type.clone(type.getShape().drop_front()), l.loc);
  {
    OpBuilder::InsertionGuard guard(l.builder);
    l.builder.setInsertionPointToStart(&body);
    SmallVector<Value> now(body.getArguments().drop_back());
    cell.run(l, layer, x, now);
    now.push_back(now[0]);
    YieldOp::create(l.builder, l.loc, now);
  }
  for (auto [state, result] : llvm::zip_first(states, scan.getResults()))
    state = result;
  return scan.getResults().back();
}

/// Refuses weights that are not matrices with as many columns as x and the state.
static bool requireFit(Lowering &l, const Layer &layer, Value x, Value state) {
  auto fits = [](Value weight, Value input) {
    return getRank(weight) == 2 && getRank(input) >= 1 &&
           getShape(weight)[1] == getShape(input).back();
  };
  return l.require(fits(layer.weightIh, x) && fits(layer.weightHh, state),
                   "weights that do not fit");
}

/// Layers of a recurrent network, forward and backward in time. Operands: input,
/// state(s), parameters, has_biases, num_layers, dropout, train, bidirectional,
/// batch_first.
static void recurrent(Lowering &l, bool isLSTM, const Cell &cell) {
  Value input = l.get(0);
  SmallVector<Value> states = isLSTM ? l.getPlainList(1) : SmallVector<Value>{l.get(1)};
  SmallVector<Value> parameters = l.getPlainList(2);
  bool biases = l.flag(3), train = l.flag(6), both = l.flag(7), batchFirst = l.flag(8);
  int64_t layers = l.integer(4), directions = both ? 2 : 1;
  double p = l.number(5);
  // Only a projected state is narrower than the cell's.
  bool projected = isLSTM && states.size() == 2 && getRank(states[0]) == 3 &&
                   getRank(states[1]) == 3 &&
                   getShape(states[0])[2] != getShape(states[1])[2];
  size_t each = (biases ? 4 : 2) + (projected ? 1 : 0);
  if (!l.refusal.empty() || !l.require(getRank(input) == 3, "an input without a batch") ||
      !l.require(states.size() == (isLSTM ? 2 : 1), "states of another number") ||
      !l.require(layers >= 1 && parameters.size() == each * layers * directions,
                 "parameters of another number"))
    return;
  Value sequence = batchFirst ? l.transpose(input, {1, 0, 2}) : input; // [T, B, I]
  int64_t steps = getShape(sequence)[0], batch = getShape(sequence)[1];
  if (!l.require(!ShapedType::isDynamic(steps) && !ShapedType::isDynamic(batch) &&
                     steps >= 1,
                 "a sequence or batch of open length"))
    return;
  auto take = [&](Value x, int64_t index) {
    Shape shape(getShape(x).drop_front());
    return l.reshape(l.slice(x, 0, index, 1), shape);
  };
  SmallVector<SmallVector<Value>> last(states.size());
  for (int64_t layer = 0; layer < layers; ++layer) {
    SmallVector<Value> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      int64_t index = layer * directions + direction;
      ArrayRef<Value> mine = ArrayRef(parameters).slice(index * each, each);
      Layer weights{mine[0], mine[1], biases ? mine[2] : Value(),
                    biases ? mine[3] : Value(), projected ? mine.back() : Value()};
      if (!requireFit(l, weights, sequence, states[0]))
        return;
      SmallVector<Value> now;
      for (Value state : states)
        now.push_back(take(state, index));
      if (projected &&
          !l.require(getShape(weights.weightIh)[0] == 4 * getShape(now[1])[1] &&
                         getShape(weights.weightHh)[0] == 4 * getShape(now[1])[1] &&
                         getShape(weights.projection) ==
                             ArrayRef({getShape(now[0])[1], getShape(now[1])[1]}),
                     "weights that do not fit"))
        return;
      outputs.push_back(runOverTime(l, projected ? projectedLstm : cell, weights,
                                    sequence, direction == 1, now));
      for (auto [list, state] : llvm::zip_equal(last, now)) {
        Shape shape(getShape(state));
        shape.insert(shape.begin(), 1);
        list.push_back(l.reshape(state, shape));
      }
    }
    sequence = l.concat(outputs, 2);
    if (train && p > 0 && layer + 1 < layers)
      sequence = l.dropout(sequence, p);
  }
  l.set(batchFirst ? l.transpose(sequence, {1, 0, 2}) : sequence);
  for (auto [i, list] : llvm::enumerate(last))
    l.set(l.concat(list, 0), 1 + i);
}

/// One step without a sequence. Operands: input, state(s), weights, biases.
static void oneCell(Lowering &l, bool isLSTM, const Cell &cell) {
  Value x = l.get(0);
  SmallVector<Value> states = isLSTM ? l.getPlainList(1) : SmallVector<Value>{l.get(1)};
  if (!l.refusal.empty() ||
      !l.require(states.size() == (isLSTM ? 2 : 1), "states of another number") ||
      !l.require(getRank(x) == 2, "an input without a batch"))
    return;
  Layer layer{l.get(2), l.get(3), l.isNone(4) ? Value() : l.get(4),
              l.isNone(5) ? Value() : l.get(5), Value()};
  if (!l.require(!layer.biasIh == !layer.biasHh, "one of two biases") ||
      !requireFit(l, layer, x, states[0]))
    return;
  const Layer prepared = cell.prepare(l, layer);
  cell.run(l, prepared, cell.project(l, prepared, x), states);
  for (auto [i, state] : llvm::enumerate(states))
    l.set(state, i);
}

void mpt::torch::populateRecurrent(Table &t) {
  t.add({"lstm_cell"}, [](Lowering &l) { oneCell(l, true, lstm); });
  t.add({"gru_cell"}, [](Lowering &l) { oneCell(l, false, gru); });
  t.add({"rnn_tanh_cell"}, [](Lowering &l) { oneCell(l, false, tanhCell); });
  t.add({"rnn_relu_cell"}, [](Lowering &l) { oneCell(l, false, reluCell); });
  t.add({"lstm.input"}, [](Lowering &l) { recurrent(l, true, lstm); });
  t.add({"gru.input"}, [](Lowering &l) { recurrent(l, false, gru); });
  t.add({"rnn_tanh.input"}, [](Lowering &l) { recurrent(l, false, tanhCell); });
  t.add({"rnn_relu.input"}, [](Lowering &l) { recurrent(l, false, reluCell); });
}
