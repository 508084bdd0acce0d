//===- Linalg.cpp - Torch's matmuls and attention -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpt;
using namespace mpt::torch;

/// a @ b; mpt.matmul has floats only.
static Value matmulOfAny(Lowering &l, Value a, Value b) {
  if (isa<FloatType>(getElement(a)))
    return l.matmul(a, b);
  Shape left(getShape(a)), right(getShape(b));
  left.push_back(1);
  if (right.size() > 2)
    right.insert(right.end() - 2, 1);
  return l.reduce(ReduceKind::Sum, l.mul(l.reshape(a, left), l.reshape(b, right)),
                  {getRank(a) - 1});
}

/// torch.matmul of any ranks.
static Value multiply(Lowering &l, Value a, Value b) {
  int64_t rankA = getRank(a), rankB = getRank(b);
  if (!l.require(rankA >= 1 && rankB >= 1, "a matmul of scalars"))
    return a;
  Shape shape;
  if (rankA == 1)
    a = l.reshape(a, {1, getShape(a)[0]});
  if (rankB == 1)
    b = l.reshape(b, {getShape(b)[0], 1});
  // One matrix times many columns is one matmul, of the columns as rows.
  const bool isOneMatrix = getRank(a) == 2 && getRank(b) > 2 && getShape(b).back() == 1 &&
                           isa<FloatType>(getElement(a));
  if (isOneMatrix) {
    Shape rows(getShape(b).drop_back()), columns(rows);
    if (!l.require(rows.back() == getShape(a)[1], "a matmul of matrices that do not fit"))
      return a;
    columns.back() = getShape(a)[0];
    columns.push_back(1);
    Value product = l.reshape(l.linear(l.reshape(b, rows), a, Value()), columns);
    if (rankA == 1)
      columns.erase(columns.end() - 2);
    return l.reshape(product, columns);
  }
  // Both get the batch dimensions of the longer one; dimensions of size 1 are repeated.
  if (getRank(b) > 2) {
    ArrayRef<int64_t> batchA = getShape(a).drop_back(2),
                      batchB = getShape(b).drop_back(2);
    if (batchA != batchB) {
      Shape batch;
      size_t rank = std::max(batchA.size(), batchB.size());
      for (size_t i = 0; i < rank; ++i) {
        auto sizeOf = [&](ArrayRef<int64_t> sizes) {
          return i + sizes.size() < rank ? 1 : sizes[i + sizes.size() - rank];
        };
        int64_t x = sizeOf(batchA), y = sizeOf(batchB);
        if (!l.require(x == y || x == 1 || y == 1, "batches that do not broadcast"))
          return a;
        batch.push_back(x == 1 ? y : x);
      }
      auto widen = [&](Value value) {
        Shape wide(batch);
        llvm::append_range(wide, getShape(value).take_back(2));
        return l.broadcast(value, wide);
      };
      a = widen(a);
      b = widen(b);
    }
  }
  Value result = matmulOfAny(l, a, b);
  shape = Shape(getShape(result));
  if (rankB == 1)
    shape.pop_back();
  if (rankA == 1)
    shape.erase(shape.end() - (rankB == 1 ? 1 : 2));
  return l.reshape(result, shape);
}

/// Numbers of numpy are f64 unless one says otherwise: a matmul of such with weights of
/// f32 would be slow, and PyTorch has none.
static bool requireOneWidth(Lowering &l, unsigned a, unsigned b) {
  return l.require(getElement(l.get(a)).isF64() == getElement(l.get(b)).isF64(),
                   "a matmul of element type f64 and another; cast one");
}

static void matmul(Lowering &l) {
  if (!requireOneWidth(l, 0, 1))
    return;
  Type element = l.resultElement();
  l.set(multiply(l, l.get(0, element), l.get(1, element)));
}

/// beta self + alpha a @ b.
static void addMatmul(Lowering &l) {
  Type element = l.resultElement();
  if (!l.require(isa<FloatType>(element), "a matmul of integers") ||
      !requireOneWidth(l, 1, 2))
    return;
  Value self = l.get(0, element), a = l.get(1, element), b = l.get(2, element);
  double beta = l.number(3, 1), alpha = l.number(4, 1);
  if (beta == 1 && alpha == 1 && getRank(self) == 1 && getRank(a) == 2 &&
      getRank(b) == 2 && getShape(self)[0] == getShape(b)[1] &&
      getShape(a)[1] == getShape(b)[0])
    return l.set(LinearOp::create(l.builder, l.loc,
                                  getType(a).clone({getShape(a)[0], getShape(b)[1]}), a,
                                  b, self, Epilogue::None, TypeAttr()));
  Value value = l.mul(multiply(l, a, b), alpha);
  l.set(beta == 0 ? value : l.add(l.mul(self, beta), value));
}

static void linear(Lowering &l) {
  if (!requireOneWidth(l, 0, 1))
    return;
  Type element = l.resultElement();
  l.set(l.linear(l.get(0, element), l.get(1, element),
                 l.isNone(2) ? Value() : l.get(2, element)));
}

namespace {
/// A tensor of an einsum, with a letter for each dimension.
struct Labeled {
  Value value;
  std::string word;
};
} // namespace

static Labeled arrange(Lowering &l, const Labeled &x, StringRef word) {
  Shape permutation;
  for (char letter : word)
    permutation.push_back(x.word.find(letter));
  return {l.transpose(x.value, permutation), word.str()};
}

/// The sum over the letters that `keep` lacks.
static Labeled sumOthers(Lowering &l, const Labeled &x, StringRef keep) {
  Shape axes;
  std::string word;
  for (auto [dim, letter] : llvm::enumerate(x.word))
    if (keep.contains(letter))
      word += letter;
    else
      axes.push_back(dim);
  return {l.reduce(ReduceKind::Sum, x.value, axes), word};
}

/// The matmul of two tensors over the letters that both have and `keep` lacks.
static Labeled contract(Lowering &l, Labeled a, Labeled b, StringRef keep) {
  a = sumOthers(l, a, keep.str() + b.word);
  b = sumOthers(l, b, keep.str() + a.word);
  std::string batch, rows, columns, inner;
  for (char letter : a.word)
    (b.word.find(letter) == std::string::npos ? rows
     : keep.contains(letter)                  ? batch
                                              : inner) += letter;
  for (char letter : b.word)
    if (a.word.find(letter) == std::string::npos)
      columns += letter;
  Shape shape;
  auto flatten = [&](const Labeled &x, StringRef letters) {
    int64_t product = 1;
    for (char letter : letters)
      product *= getShape(x.value)[x.word.find(letter)];
    return product;
  };
  for (char letter : batch + rows)
    shape.push_back(getShape(a.value)[a.word.find(letter)]);
  for (char letter : columns)
    shape.push_back(getShape(b.value)[b.word.find(letter)]);
  Value left = l.reshape(arrange(l, a, batch + rows + inner).value,
                         {flatten(a, batch), flatten(a, rows), flatten(a, inner)});
  Value right = l.reshape(arrange(l, b, batch + inner + columns).value,
                          {flatten(b, batch), flatten(b, inner), flatten(b, columns)});
  return {l.reshape(matmulOfAny(l, left, right), shape), batch + rows + columns};
}

/// x without letters that stand twice in its word: the diagonals of their dimensions.
static Labeled takeDiagonals(Lowering &l, Labeled x) {
  for (size_t first = 0; first < x.word.size();) {
    const size_t second = x.word.find(x.word[first], first + 1);
    if (second == std::string::npos) {
      ++first;
      continue;
    }
    ArrayRef<int64_t> shape = getShape(x.value);
    if (!l.require(
            shape[first] == shape[second],
            "a letter that stands twice in one tensor, for dimensions of different "
            "sizes"))
      return x;
    x.value = diagonalOf(l, x.value, 0, first, second);
    x.word += x.word[first];
    x.word.erase(second, 1);
    x.word.erase(first, 1);
  }
  return x;
}

/// einsum: matmuls from left to right.
static void einsum(Lowering &l) {
  std::string equation;
  for (char c : l.text(0))
    if (c != ' ')
      equation += c;
  SmallVector<Value> operands = l.getPlainList(1);
  auto [left, right] = StringRef(equation).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (!l.refusal.empty() ||
      !l.require(terms.size() == operands.size(), "an equation of other tensors"))
    return;
  // The dimensions of `...` are letters, too: '0' is the last one.
  auto spellOut = [](StringRef term, int64_t count) {
    std::string dots;
    for (int64_t i = count; i-- > 0;)
      dots += static_cast<char>('0' + i);
    auto [before, after] = term.split("...");
    return term.contains("...") ? before.str() + dots + after.str() : term.str();
  };
  int64_t most = 0;
  SmallVector<Labeled> tensors;
  for (auto [term, operand] : llvm::zip_equal(terms, operands)) {
    int64_t letters = term.size() - (term.contains("...") ? 3 : 0);
    int64_t count = getRank(operand) - letters;
    std::string word = spellOut(term, count);
    if (!l.require(count >= 0 && count < 10 &&
                       static_cast<int64_t>(word.size()) == getRank(operand),
                   "a tensor of another number of dimensions than its letters") ||
        !l.require(getType(operand).hasStaticShape(), "an open dimension"))
      return;
    most = std::max(most, term.contains("...") ? count : 0);
    tensors.push_back(takeDiagonals(l, {operand, word}));
  }
  std::string result = spellOut(right, most);
  if (!StringRef(equation).contains("->")) {
    // `...`, then the letters that stand once in the equation.
    result = spellOut("...", most);
    std::string sorted = left.str();
    llvm::sort(sorted);
    for (char letter : sorted)
      if (llvm::isAlpha(letter) && left.count(letter) == 1)
        result += letter;
  }
  // Dimensions of size 1 are repeated.
  llvm::DenseMap<char, int64_t> sizes;
  for (const Labeled &tensor : tensors)
    for (auto [letter, size] : llvm::zip_equal(tensor.word, getShape(tensor.value)))
      sizes[letter] = std::max(sizes.lookup(letter), size);
  for (char letter : result)
    if (!l.require(sizes.contains(letter), "a letter that no tensor has"))
      return;
  for (Labeled &tensor : tensors) {
    Shape shape;
    for (char letter : tensor.word)
      shape.push_back(sizes.lookup(letter));
    tensor.value = l.broadcast(tensor.value, shape);
  }
  Labeled product = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) {
    std::string keep = result;
    for (size_t later = i + 1; later < tensors.size(); ++later)
      keep += tensors[later].word;
    product = contract(l, product, tensors[i], keep);
  }
  l.set(arrange(l, sumOthers(l, product, result), result).value);
}

static void attention(Lowering &l) {
  Value q = l.get(0), k = l.get(1), v = l.get(2);
  int64_t rank = getRank(q);
  double p = l.number(4, 0);
  bool causal = l.flag(5);
  auto isOpen = [](Value x) {
    return llvm::is_contained(getShape(x).drop_front(), ShapedType::kDynamic);
  };
  if (!l.require(rank >= 2 && getRank(k) == rank && getRank(v) == rank,
                 "tensors of different numbers of dimensions, or of fewer than 2") ||
      !l.require(!isOpen(q) && !isOpen(k) && !isOpen(v),
                 "an open dimension after the first") ||
      !l.require(l.isNone(3) || !causal, "a mask in addition to is_causal"))
    return;
  // What comes before the heads is one batch.
  const Shape outer(getShape(q).drop_back(std::min<int64_t>(rank, 3)));
  auto sameOuter = [&](Value x) {
    return llvm::equal(getShape(x).take_front(outer.size()), outer);
  };
  if (rank > 4 &&
      !l.require(sameOuter(k) && sameOuter(v) &&
                     !llvm::is_contained(outer, ShapedType::kDynamic),
                 "more than 4 dimensions of which the first ones differ or are "
                 "open"))
    return;
  auto lift = [&](Value x) {
    if (getRank(x) == 4)
      return x;
    Shape shape(4 - getRank(x), 1);
    llvm::append_range(shape, getShape(x));
    return l.reshape(x, shape);
  };
  // [B, T, D] is a batch of one head each, and [T, D] one of them.
  auto toBatchOfHeads = [&](Value x) {
    ArrayRef<int64_t> s = getShape(x);
    if (rank <= 3)
      return l.reshape(x, {rank == 3 ? s[0] : 1, 1, s[rank - 2], s[rank - 1]});
    return rank == 4 ? x
                     : l.reshape(x, {llvm::product_of(outer), s[rank - 3], s[rank - 2],
                                     s[rank - 1]});
  };
  q = toBatchOfHeads(q), k = toBatchOfHeads(k), v = toBatchOfHeads(v);
  int64_t b = getShape(q)[0], heads = getShape(q)[1], t = getShape(q)[2],
          d = getShape(q)[3];
  int64_t kvHeads = getShape(k)[1], s = getShape(k)[2];
  // One batch or one head of keys and values serves all, as where tensors broadcast.
  auto repeatBatch = [&](Value x) {
    ArrayRef<int64_t> shape = getShape(x);
    return shape[0] == b ? x : l.broadcast(x, {b, shape[1], shape[2], shape[3]});
  };
  k = repeatBatch(k), v = repeatBatch(v);
  if (kvHeads != heads && !l.require(kvHeads == getShape(v)[1] &&
                                         (kvHeads == 1 || (l.flag(7) && kvHeads != 0 &&
                                                           heads % kvHeads == 0)),
                                     "key and value of another number of heads"))
    return;
  double scale = l.number(6, 1 / std::sqrt(static_cast<double>(d)));
  Value mask;
  if (!l.isNone(3)) {
    mask = l.get(3);
    if (rank == 3 && getRank(mask) == 3) {
      ArrayRef<int64_t> m = getShape(mask);
      mask = l.reshape(mask, {m[0], 1, m[1], m[2]});
    }
    if (getRank(mask) > 4) {
      // One mask for some of the batch is one for each.
      Shape wide(rank - getRank(mask), 1);
      llvm::append_range(wide, getShape(mask));
      if (!l.require(getType(mask).hasStaticShape() && getRank(mask) <= rank,
                     "a mask of an open shape, or of more dimensions than the queries"))
        return;
      mask = l.reshape(mask, wide);
      llvm::copy(outer, wide.begin());
      mask = l.broadcast(mask, wide);
      mask = l.reshape(mask, {b, wide[rank - 3], wide[rank - 2], wide[rank - 1]});
    }
    mask = lift(mask);
  }
  if (causal && t != s) {
    // Query t sees key s up to t; mpt.attention counts from the end.
    Type i64 = l.builder.getI64Type();
    Value seen = l.compare(ComparePredicate::LE, l.iota({1, 1, t, s}, 3, i64),
                           l.iota({1, 1, t, s}, 2, i64));
    mask = seen;
    causal = false;
  }
  Value bias;
  if (mask && !getElement(mask).isInteger(1))
    std::swap(mask, bias);
  if (p == 1)
    return l.set(l.constant(0, getElement(q), l.resultType().getShape()));
  if (!l.require(p >= 0 && p < 1, "a probability of dropout outside of [0, 1]"))
    return;
  Value seed, attempt;
  FloatAttr rate;
  IntegerAttr stream;
  if (p > 0) {
    std::tie(seed, attempt) = l.getRandomState();
    rate = l.f64(p);
    stream = l.builder.getI64IntegerAttr(l.graph.nextStream++);
  }
  auto type = getType(q).clone({b, heads, t, getShape(v)[3]});
  Type sums = getElement(q).isF64() ? getElement(q) : l.builder.getF32Type();
  Value y =
      AttentionOp::create(l.builder, l.loc, type,
                          RankedTensorType::get({b, heads, t}, sums), q, k, v, mask, bias,
                          seed, attempt, causal, l.f64(scale), rate, stream, TypeAttr())
          .getResult();
  l.set(l.reshape(y, l.resultType().getShape()));
}

/// Rows that share a matrix, where `rows` of them are in `groups`: few enough that the
/// last blocks of groups are no large part of all, and so many that reading a matrix for
/// each block costs less than multiplying by it. With b rows in a block this adds about b
/// / 2 rows a group, and what reading costs, some 30 to 60 rows, for each of rows / b
/// blocks.
static int64_t chooseBlockRows(int64_t rows, int64_t groups) {
  const double root = 8 * std::sqrt(static_cast<double>(rows) / groups);
  return std::max<int64_t>(llvm::alignTo(static_cast<int64_t>(root), 16), 16);
}

/// Rows of x [S, I] times the matrix of their group, of w [E, I, O], or [E, O, I] if
/// `transposed`, where group e ends at `ends`[e] of i64. Rows past the last one give
/// zeros. As MegaBlocks (Gale et al., 2023) does it, each group is cut into blocks of a
/// few rows, and there is a place for as many blocks as there can be at most; a block is
/// multiplied by the matrix of its group, by one batched matmul.
static Value multiplyInBlocks(Lowering &l, Value x, Value w, bool transposed, Value ends,
                              int64_t block, int64_t blocks) {
  Type i64 = l.builder.getI64Type();
  const int64_t rows = getShape(x)[0], groups = getShape(w)[0];
  const auto last = static_cast<double>(groups - 1);
  auto smaller = [&](Value a, double b) {
    return l.where(l.compare(ComparePredicate::LT, a, b), a, l.number(a, b));
  };
  // Of each number along the first dimension, how many of `bounds` are not above it.
  auto countUpTo = [&](int64_t size, Value bounds) {
    Value isPast = l.compare(ComparePredicate::LE, l.reshape(bounds, {1, groups}),
                             l.iota({size, 1}, 0, i64));
    return l.reduceLast(ReduceKind::Sum, l.cast(isPast, i64));
  };
  Value starts =
      groups > 1 ? l.concat({l.constant(0, i64, {1}), l.slice(ends, 0, 0, groups - 1)}, 0)
                 : l.constant(0, i64, {1});
  Value size = l.sub(ends, starts);
  Value count = l.div(l.add(size, static_cast<double>(block - 1)),
                      l.number(size, static_cast<double>(block)));
  // The number of the block after each group's last one, and of its first.
  Value after =
      scanLast(l, count, 0, [&](Value before, Value own) { return l.add(before, own); });
  Value first = l.sub(after, count);

  // Places past the end of a group hold some row, and those past the last group its last
  // one; nothing reads what they give. Rows past the last group may be NaN, which times
  // the zeros that come back to a place would be NaN in its matrix's gradient.
  Value group = smaller(countUpTo(blocks, after), last);
  Value inGroup = l.sub(l.iota({blocks}, 0, i64), l.gather(first, group));
  Value begin =
      l.add(l.gather(starts, group), l.mul(inGroup, static_cast<double>(block)));
  Value lastRow = l.add(smaller(l.slice(ends, 0, groups - 1, 1), rows), -1.0);
  lastRow =
      l.where(l.compare(ComparePredicate::GE, lastRow, 0), lastRow, l.number(lastRow, 0));
  Value row = l.add(l.reshape(begin, {blocks, 1}), l.iota({1, block}, 1, i64));
  row = l.where(l.compare(ComparePredicate::LT, row, lastRow), row, lastRow);
  Value y = l.matmul(l.gather(x, row), l.gather(w, group), false, transposed);

  Value groupOf = countUpTo(rows, ends);
  Value isIn = l.compare(ComparePredicate::LE, groupOf, last);
  groupOf = smaller(groupOf, last);
  Value place = l.sub(l.iota({rows}, 0, i64), l.gather(starts, groupOf));
  place = l.add(place, l.mul(l.gather(first, groupOf), static_cast<double>(block)));
  // Rows past the last group have no place.
  place = l.where(isIn, place, l.number(place, 0));
  const int64_t columns = getShape(y)[2];
  Value taken = l.gather(l.reshape(y, {blocks * block, columns}), place);
  return l.where(l.reshape(isIn, {rows, 1}), taken, l.number(taken, 0));
}

/// Rows of x [S, I] times the matrix of their group, of w [E, I, O]: offsets[e] is where
/// group e ends. In blocks, or, where that would multiply more, as one matmul: row s
/// becomes [E, I] with zeros outside of its group.
static void groupedMatmul(Lowering &l) {
  Value x = l.get(0), w = l.get(1);
  if (!l.require(!l.isNone(2) && getRank(x) == 2 && getRank(w) == 3 &&
                     getType(x).hasStaticShape() && getType(w).hasStaticShape(),
                 "other than rows in groups times a matrix for each group") ||
      !l.require(l.isNone(3), "a bias"))
    return;
  Type i64 = l.builder.getI64Type();
  int64_t rows = getShape(x)[0], groups = getShape(w)[0], inner = getShape(w)[1];
  Value ends = l.cast(l.get(2), i64);
  const int64_t block = rows > 0 && groups > 0 ? chooseBlockRows(rows, groups) : 1;
  const int64_t filled = std::min(rows, groups);
  const int64_t blocks = (rows - filled) / block + filled;
  // Reading a matrix costs as much as these rows.
  constexpr int64_t reading = 32;
  if (blocks * (block + reading) < rows * groups) {
    // Linear layers' weights are [E, O, I].
    auto transpose = w.getDefiningOp<TransposeOp>();
    const bool transposed =
        transpose && llvm::equal(transpose.getPermutation(), ArrayRef<int64_t>{0, 2, 1});
    return l.set(multiplyInBlocks(l, x, transposed ? transpose.getX() : w, transposed,
                                  ends, block, blocks));
  }
  Value past = l.compare(ComparePredicate::LE, l.reshape(ends, {1, groups}),
                         l.iota({rows, 1}, 0, i64));
  Value group = l.reduceLast(ReduceKind::Sum, l.cast(past, i64));
  Value mine = l.reshape(l.oneHot(group, groups), {rows, groups, 1});
  Value spread = l.where(mine, l.reshape(x, {rows, 1, inner}), l.number(x, 0));
  l.set(l.matmul(l.reshape(spread, {rows, groups * inner}),
                 l.reshape(w, {groups * inner, getShape(w)[2]})));
}

/// The areas under the line through the values of operand 0, and their sum or sums so
/// far. Between points at `hasPoints` operand 1, or at a distance.
static std::function<void(Lowering &)> trapezoid(bool hasPoints, bool cumulative) {
  return [=](Lowering &l) {
    Value y = l.get(0, l.resultElement());
    if (!l.require(getRank(y) > 0, "a scalar"))
      return;
    const int64_t rank = getRank(y), dim = l.isNone(2) ? rank - 1 : l.dimension(2, rank);
    const int64_t count = getShape(y)[dim];
    if (!l.require(!ShapedType::isDynamic(count) && count > 0, "an open dimension"))
      return;
    auto between = [&](Value x, int64_t at, bool adds) {
      Value next = l.slice(x, at, 1, count - 1), last = l.slice(x, at, 0, count - 1);
      return adds ? l.add(next, last) : l.sub(next, last);
    };
    Value area = l.mul(between(y, dim, true), 0.5);
    if (hasPoints) {
      Value x = l.get(1, l.resultElement());
      const int64_t points = getRank(x);
      const int64_t at = points == 1 ? 0 : dim - rank + points;
      if (!l.require(points >= 1 && points <= rank && at >= 0 && getShape(x)[at] == count,
                     "points of this shape"))
        return;
      Value width = between(x, at, false);
      if (points == 1) {
        Shape along(rank, 1);
        along[dim] = count - 1;
        width = l.reshape(width, along);
      }
      area = l.mul(area, width);
    } else {
      area = l.mul(area, l.number(1, 1));
    }
    if (!cumulative)
      return l.set(l.reduce(ReduceKind::Sum, area, {dim}));
    Value last = l.moveToLast(area, dim);
    l.set(l.moveFromLast(
        scanLast(l, last, 0, [&](Value a, Value b) { return l.add(a, b); }), dim));
  };
}

void mpt::torch::populateLinalg(Table &t) {
  t.add({"mm", "bmm", "matmul", "mv", "dot", "vdot"}, matmul);
  t.add({"_grouped_mm"}, groupedMatmul);
  t.add({"addmm", "baddbmm", "addmv"}, addMatmul);
  t.add({"linear"}, linear);
  t.add({"einsum"}, einsum);
  t.add({"outer"}, [](Lowering &l) {
    Type element = l.resultElement();
    Value a = l.get(0, element), b = l.get(1, element);
    if (l.require(getRank(a) == 1 && getRank(b) == 1, "vectors"))
      l.set(l.mul(l.reshape(a, {getShape(a)[0], 1}), b));
  });
  t.add({"scaled_dot_product_attention"}, attention);
  t.add({"inner"}, [](Lowering &l) {
    Value a = l.get(0), b = l.get(1);
    if (getRank(a) == 0 || getRank(b) == 0)
      return l.set(l.mul(a, b));
    int64_t size = getShape(a).back();
    if (!l.require(getShape(b).back() == size && getType(a).hasStaticShape() &&
                       getType(b).hasStaticShape() && size > 0,
                   "operands that do not fit"))
      return;
    auto rows = [&](Value x) {
      return l.reshape(x, {getType(x).getNumElements() / size, size});
    };
    l.set(l.reshape(l.matmul(rows(a), rows(b), false, true), l.resultType().getShape()));
  });
  t.add({"addr"}, [](Lowering &l) {
    Type element = l.resultElement();
    Value a = l.get(1, element), b = l.get(2, element);
    if (!l.require(getRank(a) == 1 && getRank(b) == 1, "vectors"))
      return;
    Value product = l.mul(l.reshape(a, {getShape(a)[0], 1}), b);
    l.set(
        l.add(l.mul(l.get(0, element), l.number(3, 1)), l.mul(product, l.number(4, 1))));
  });
  t.add({"addbmm"}, [](Lowering &l) {
    Value sum = l.reduce(ReduceKind::Sum, l.matmul(l.get(1), l.get(2)), {0});
    l.set(l.add(l.mul(l.get(0), l.number(3, 1)), l.mul(sum, l.number(4, 1))));
  });
  t.add({"linalg_cross", "cross"}, [](Lowering &l) {
    Type element = l.resultElement();
    Value a = l.get(0, element), b = l.get(1, element);
    RankedTensorType type = l.broadcastType({a, b}, element);
    a = l.broadcast(a, type.getShape());
    b = l.broadcast(b, type.getShape());
    int64_t dim = l.isNone(2) ? -1 : l.dimension(2, type.getRank());
    for (int64_t i = 0; dim < 0 && i < type.getRank(); ++i)
      if (type.getDimSize(i) == 3)
        dim = i;
    if (!l.require(dim >= 0 && type.getDimSize(dim) == 3, "a dimension of 3"))
      return;
    auto turn = [&](Value x, int64_t by) { // element i of the result is element i + by
      return l.concat({l.slice(x, dim, by, 3 - by), l.slice(x, dim, 0, by)}, dim);
    };
    l.set(l.sub(l.mul(turn(a, 1), turn(b, 2)), l.mul(turn(a, 2), turn(b, 1))));
  });
  t.add({"trapezoid.x", "trapz.x"}, trapezoid(true, false));
  t.add({"trapezoid.dx", "trapz.dx"}, trapezoid(false, false));
  t.add({"cumulative_trapezoid.x"}, trapezoid(true, true));
  t.add({"cumulative_trapezoid.dx"}, trapezoid(false, true));
  t.add({"bilinear"}, [](Lowering &l) {
    // y[.., o] = sum of x1[.., i] weight[o, i, j] x2[.., j]
    Value a = l.get(0), b = l.get(1), weight = l.get(2);
    if (!l.require(getRank(weight) == 3 && getRank(a) >= 1 && getRank(b) == getRank(a) &&
                       getType(a).hasStaticShape() && getType(b).hasStaticShape(),
                   "operands of these ranks"))
      return;
    int64_t o = getShape(weight)[0], i = getShape(weight)[1], j = getShape(weight)[2];
    if (!l.require(getShape(a).back() == i && getShape(b).back() == j && i > 0 && j > 0,
                   "a weight that does not fit"))
      return;
    int64_t n = getType(a).getNumElements() / i;
    Value left = l.matmul(l.reshape(a, {n, i}),
                          l.reshape(l.transpose(weight, {1, 0, 2}), {i, o * j}));
    Value y = l.reduceLast(ReduceKind::Sum,
                           l.mul(l.reshape(left, {n, o, j}), l.reshape(b, {n, 1, j})));
    y = l.reshape(y, l.resultType().getShape());
    l.set(l.isNone(3) ? y : l.add(y, l.get(3)));
  });
}
