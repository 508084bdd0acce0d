//===- Matmul.cpp - Matmuls through oneDNN -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matmuls: oneDNN's matmul on one thread a chunk, chunks as planMatmul
/// cuts them. Operands in half types are widened to f32 in panels that stay in
/// the cache; parts of rows are copied there if the CPU's matmul wants them dense.
/// Two of bf16 are multiplied as they are where the CPU does that faster, the right one
/// repacked into the layout that oneDNN likes; 8-bit floats, which all are numbers of
/// bf16, become bf16 there. A side of f32 that is to be rounded is rounded on its way
/// into a panel. Two of f32 are multiplied as a convolution of 1x1 where the CPU does
/// that faster, the right one, its filter, in blocks; or, where that takes too much room,
/// with the left one transposed, or, if it is stored so, in dense panels. Sums are f32 in
/// any case; results are rounded once.
///
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Convert.h"
#include "MatmulPanels.h"
#include "OneDnn.h"
#include "Parallel.h"
#include "mpt/ProgramABI/CallPlan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

using namespace mpt::rt;

namespace {

int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// bf16 for 8-bit floats, all of which it holds, and other types as they are.
DataType getExactType(DataType type) { return isF8(type) ? DataType::BF16 : type; }

/// C = A B or, if it adds, C + A B, C in f32, on one thread.
class MatmulPrimitive {
public:
  /// `m` x `k` by `k` x `n`, row-major but for the right side, which is in blocks.
  bool initConvolution(int64_t m, int64_t k, int64_t n, int64_t threads, bool adds) {
    dnnl_memory_desc_t lhs, rhs, out;
    dnnl_convolution_desc_t desc;
    const dnnl_dim_t one[] = {1, 1}, none[] = {0, 0};
    if (!makeDesc(lhs, {1, k, m, 1}, {m * k, 1, k, k}) ||
        !makeDesc(rhs, {n, k, 1, 1}, {}) ||
        !makeDesc(out, {1, n, m, 1}, {m * n, 1, n, n}) ||
        dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference,
                                           dnnl_convolution_direct, &lhs, &rhs, nullptr,
                                           &out, one, none, none) != dnnl_success ||
        !primitive.init(&desc, nullptr, adds))
      return false;
    return primitive.getName().substr(0, 7) == "jit_1x1" &&
           isBlockedRhs(getRhs(), k, n) &&
           primitive.setArguments(
               {{DNNL_ARG_SRC, lhs}, {DNNL_ARG_WEIGHTS, getRhs()}, {DNNL_ARG_DST, out}},
               threads);
  }
  /// With given layouts, of which `rhs` may leave its own to oneDNN.
  bool init(const dnnl_memory_desc_t &lhs, const dnnl_memory_desc_t &rhs,
            const dnnl_memory_desc_t &out, int64_t threads, bool adds) {
    dnnl_matmul_desc_t desc;
    if (dnnl_matmul_desc_init(&desc, &lhs, &rhs, nullptr, &out) != dnnl_success ||
        !primitive.init(&desc, nullptr, adds))
      return false;
    if (lhs.data_type == dnnl_bf16 && primitive.isReference())
      return false;
    return primitive.setArguments(
        {{DNNL_ARG_SRC, lhs}, {DNNL_ARG_WEIGHTS, getRhs()}, {DNNL_ARG_DST, out}},
        threads);
  }
  bool isReady() const { return primitive.isReady(); }
  dnnl_memory_desc_t getRhs() const { return primitive.query(dnnl_query_weights_md); }
  bool run(const void *lhs, const void *rhs, float *out, int thread) {
    return primitive.run({const_cast<void *>(lhs), const_cast<void *>(rhs), out}, thread);
  }

private:
  Primitive primitive;
};

class Matmul : public Call {
  /// Most rows that are multiplied by a panel of columns at a time, so that they stay in
  /// the cache.
  static constexpr int64_t mostRows = 256;
  /// Tasks per thread from which on each has all rows.
  static constexpr int64_t columnTasks = 4;

public:
  void init(const Instruction &instruction, int64_t maxThreads, bool fastBF16) {
    getMatmulShape(instruction, s);
    plan = planMatmul(s);
    storedLhs = instruction.refs[0].type;
    storedRhs = instruction.refs[1].type;
    operands = getMatmulType(getExactType(s.lhs), getExactType(s.rhs), fastBF16);
    const auto &call = *instruction.getCall<MatmulCall>();
    hasBias = call.hasBias;
    epilogue = call.epilogue;
    threads = maxThreads;
    if (hasBias) {
      bias = instruction.refs[2];
      biasRow.resize(s.n);
    }
    if (s.k == 0)
      emptyRow.resize(s.n);
    outIndex = instruction.numInputs;
  }

  bool run(void **buffers, ThreadTeam &team, std::string &error) override {
    if (s.m == 0 || s.n == 0 || s.batch == 0)
      return true;
    failed = false;
    const float *biasData = nullptr;
    if (hasBias) {
      widen(bias.type, buffers[2], 0, biasRow.data(), s.n);
      biasData = biasRow.data();
    }
    if (s.k == 0) {
      writeEmptySums(buffers[outIndex], biasData);
      return true;
    }
    char *scratch = static_cast<char *>(buffers[outIndex + 1]);
    if (plan.sumChunk)
      runSums(buffers, scratch, biasData, team);
    else if (plan.columnChunk)
      runColumns(buffers, scratch, biasData, team);
    else
      runRows(buffers, scratch, biasData, team);
    if (failed)
      error = "oneDNN could not run a matmul";
    return !failed;
  }

  bool prepare() {
    if (s.m == 0 || s.n == 0 || s.k == 0 || s.batch == 0)
      return true;
    const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    wantsDense = wantsDenseMatrices(isa);
    prefersConvs = prefersConvolutions(isa);
    gathersLhs = wantsDenseLhs() && plan.gathersLhs;
    gathersRhs = wantsDense && plan.gathersRhs;
    // There is room for rows that are widened or gathered.
    transposesLhs = wantsDense && s.transposeLhs && !plan.sumChunk && hasLhsPanel() &&
                    canTransposeRows(storedLhs);
    if (plan.columnChunk)
      return prepareColumns();
    if (operands != DataType::F32) {
      packs = preparePacking();
      if (packs)
        return true;
      primitives.clear();
      if (preparePrimitives(nullptr))
        return true;
      primitives.clear();
      operands = DataType::F32;
    }
    turns = prefersConvs && plan.turnsLhs;
    if (prefersConvs && plan.blocksRhs) {
      blocks = true;
      if (!preparePrimitives(nullptr)) {
        blocks = false;
        primitives.clear();
      }
    }
    return blocks || preparePrimitives(nullptr);
  }

private:
  /// Whether there is room for rows of the left side.
  bool hasLhsPanel() const { return s.lhs != DataType::F32 || plan.gathersLhs; }
  /// Whether rows of the left side are copied if they lie apart. Those of a transposed
  /// one compete for few lines of the first-level cache if the matrix is wide.
  bool wantsDenseLhs() const { return wantsDense || (prefersConvs && s.transposeLhs); }
  /// Whether a side is not stored as it is multiplied.
  bool convertsLhs() const {
    return storedLhs != operands || s.lhsRounding != Rounding::None;
  }
  bool convertsRhs() const {
    return storedRhs != operands || s.rounding != Rounding::None;
  }
  /// Whether a chunk of a side is copied to a panel of the multiplied type.
  bool copiesLhs() const { return convertsLhs() || gathersLhs || transposesLhs; }
  bool copiesRhsChunk() const { return convertsRhs() || gathersRhs; }

  /// Where, in `bytes` that get a packed right side, the `count` elements of one that is
  /// rounded to bf16 wait for that: at the end.
  static int64_t getRoundedOffset(int64_t bytes, int64_t count) {
    return bytes - alignUp(2 * count);
  }
  /// The columns of a block if packPairs writes this layout, else 0.
  int64_t getPairs(const dnnl_memory_desc_t &packed) const {
    return canPackPairs(storedRhs, s.transposeRhs) ? getPairedColumns(packed) : 0;
  }
  /// Whether a right side of `count` elements can be packed in `bytes`; without
  /// `pairedColumns` it is rounded before that.
  bool fits(const dnnl_memory_desc_t &packed, int64_t bytes, int64_t count,
            int64_t pairedColumns) const {
    const int64_t room =
        convertsRhs() && pairedColumns == 0 ? getRoundedOffset(bytes, count) : bytes;
    return static_cast<int64_t>(dnnl_memory_desc_get_size(&packed)) <= room;
  }

  /// The matmuls of a chunk of rows by a chunk of columns: packed, in blocks or plain.
  bool prepareColumns() {
    if (operands != DataType::F32) {
      packs = true;
      if (prepareColumnPanels())
        return true;
      packs = false;
      if (prepareColumnPanels())
        return true;
      operands = DataType::F32;
    }
    // A transposed left side is brought into rows.
    const bool transposes =
        s.transposeLhs && s.n > 1 && hasLhsPanel() && !isF8(storedLhs);
    if (prefersConvs && (plan.blocksRhs || transposes)) {
      blocks = true;
      transposesLhs = transposes;
      if (prepareColumnPanels())
        return true;
      blocks = transposesLhs = false;
    }
    return prepareColumnPanels();
  }

  bool prepareColumnPanels() {
    primitives.clear();
    columnPacks.clear();
    // Planned is room for rows of f32; where they are narrower or not copied, for more.
    const int64_t room = plan.threadBytes - plan.columnBytes - 128;
    auto countRows = [&] {
      const int64_t rowBytes = (copiesLhs() ? getSize(operands) * plan.depth : 0) +
                               (plan.keepsSums ? 8 : 4) * plan.columnChunk;
      return std::clamp(std::min(room / rowBytes / 16 * 16, mostRows), plan.rowChunk,
                        plan.rowGroup);
    };
    // All rows of a transposed side are dense as they are stored.
    gathersLhs = false;
    rowStep = countRows();
    if (plan.gathersLhs &&
        (s.transposeLhs ? wantsDenseLhs() && rowStep < s.m : wantsDense || blocks)) {
      gathersLhs = true;
      rowStep = countRows();
    }
    for (int64_t columns : {plan.columnChunk, getColumns(plan.columnChunks - 1)})
      for (int64_t k : {plan.depth, s.k % plan.depth})
        if (k > 0 && !prepareColumnPanel(columns, k))
          return false;
    return true;
  }
  /// The matmuls by so many columns, with sums of length `k`.
  bool prepareColumnPanel(int64_t columns, int64_t k) {
    const dnnl_memory_desc_t *layout = nullptr;
    dnnl_memory_desc_t packed;
    if (packs) {
      dnnl_memory_desc_t any, plain, dense;
      const int64_t lead = s.transposeRhs  ? (convertsRhs() ? k : s.k)
                           : convertsRhs() ? columns
                                           : s.n;
      if (!makeDesc(any, {k, columns}, {}, operands) ||
          !makeDesc(plain, {k, columns},
                    {s.transposeRhs ? 1 : lead, s.transposeRhs ? lead : 1}, operands) ||
          !makeColumns(dense, k, columns) || !preparePrimitive(rowStep, k, &any, columns))
        return false;
      packed = primitives.at({rowStep, columns, k}).getRhs();
      layout = &packed;
      const int64_t block = pairs[{columns, k}] = getPairs(packed);
      if (dnnl_memory_desc_equal(&packed, &dense) ||
          !fits(packed, plan.columnBytes, k * columns, block))
        return false;
      Primitive &pack = columnPacks[{columns, k}];
      if (block == 0 && !pack.isReady() &&
          (!pack.initReorder(plain, packed) ||
           !pack.setArguments({{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, packed}}, threads)))
        return false;
    }
    // All groups of rows but the last have the same steps.
    for (int64_t group : {int64_t(0), plan.rowGroups - 1}) {
      const int64_t rows = std::min(plan.rowGroup, s.m - group * plan.rowGroup);
      for (int64_t step : {std::min(rowStep, rows), rows % rowStep})
        if (step > 0 && !preparePrimitive(step, k, layout, columns))
          return false;
    }
    return true;
  }
  int64_t getColumns(int64_t chunk) const {
    return std::min(plan.columnChunk, s.n - chunk * plan.columnChunk);
  }
  /// A panel of columns that is not packed.
  bool makeColumns(dnnl_memory_desc_t &desc, int64_t k, int64_t columns) const {
    const bool isTransposed = s.transposeRhs && !transposesRhs();
    const int64_t lead = convertsRhs() ? k : s.k;
    return makeDesc(desc, {k, columns},
                    {isTransposed ? 1 : columns, isTransposed ? lead : 1}, operands);
  }
  /// Whether columns of a transposed right side are brought into rows: oneDNN would do
  /// that for every chunk of rows again.
  bool transposesRhs() const {
    return wantsDense && s.transposeRhs && operands == DataType::F32 &&
           canTransposeRows(storedRhs);
  }

  /// Matmuls whose right side is in a layout of oneDNN's choice, if one fits
  /// all chunks and the workspace, which has room for f32.
  bool preparePacking() {
    dnnl_memory_desc_t any, plain;
    if (plan.sumChunk || !makeDesc(any, {s.k, s.n}, {}, operands) ||
        !makeRhs(plain, s.k) ||
        !preparePrimitive(std::min(plan.rowChunk, s.m), s.k, &any))
      return false;
    dnnl_memory_desc_t packed = primitives.begin()->second.getRhs();
    wholePairs = getPairs(packed);
    return !dnnl_memory_desc_equal(&packed, &plain) &&
           fits(packed, plan.rhsBytes, s.k * s.n, wholePairs) &&
           preparePrimitives(&packed) &&
           (wholePairs != 0 ||
            (pack.initReorder(plain, packed) &&
             pack.setArguments({{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, packed}},
                               threads)));
  }

  /// The matmuls of all chunks, their right side plain or as `packedRhs`.
  bool preparePrimitives(const dnnl_memory_desc_t *packedRhs) {
    if (plan.sumChunk)
      return prepareSums();
    for (int64_t rows :
         {std::min(plan.rowChunk, s.m), s.m - plan.rowChunk * (plan.chunks - 1)})
      if (!preparePrimitive(rows, s.k, packedRhs))
        return false;
    return true;
  }

  /// The matmuls of the chunks of a sum. Planned is room for some terms of f32: there may
  /// be more where they are narrower or not copied.
  bool prepareSums() {
    const int64_t termBytes =
        getSize(operands) * ((copiesLhs() ? s.m : 0) + (copiesRhsChunk() ? s.n : 0));
    depth = plan.depth;
    if (!blocks && !turns)
      depth = termBytes == 0 ? plan.sumChunk
                             : std::clamp((plan.threadBytes - 128) / termBytes / 8 * 8,
                                          plan.depth, plan.sumChunk);
    for (int64_t chunk : {plan.sumChunk, s.k - plan.sumChunk * (plan.chunks - 1)}) {
      if (!preparePrimitive(s.m, std::min(depth, chunk), nullptr))
        return false;
      for (int64_t terms : {depth, chunk % depth})
        if (terms > 0 && chunk > depth &&
            !preparePrimitive(s.m, terms, nullptr, 0, /*adds=*/true))
          return false;
    }
    return true;
  }

  /// A right side of `k` rows as it is stored, or as a widened panel of it.
  bool makeRhs(dnnl_memory_desc_t &desc, int64_t k) const {
    int64_t lead = s.transposeRhs ? s.k : s.n;
    if (plan.sumChunk && copiesRhsChunk() && s.transposeRhs)
      lead = k;
    return makeDesc(desc, {k, s.n},
                    {s.transposeRhs ? 1 : lead, s.transposeRhs ? lead : 1}, operands);
  }

  /// The matmul of `m` rows with sums of length `k`, or, with `columns`, by so many
  /// columns. Adds it to the result if that is asked for.
  bool preparePrimitive(int64_t m, int64_t k, const dnnl_memory_desc_t *packedRhs,
                        int64_t columns = 0, bool adds = false) {
    MatmulPrimitive &primitive = primitives[{m, columns, k, adds}];
    if (primitive.isReady())
      return true;
    const int64_t n = columns ? columns : s.n;
    if (blocks)
      return primitive.initConvolution(m, k, n, threads, adds);
    // Panels keep the layout of what they copy: rows of the stored matrix, cut to the
    // chunk.
    bool copies = copiesLhs();
    const bool isTransposed = (s.transposeLhs && !transposesLhs) || turns;
    int64_t lhsLead = s.transposeLhs ? (copies && !plan.sumChunk ? m : s.m) : s.k;
    if (copies && !s.transposeLhs)
      lhsLead = k;
    if (turns)
      lhsLead = m;
    if (transposesLhs)
      lhsLead = k;
    dnnl_memory_desc_t lhs, rhs, out;
    return makeDesc(lhs, {m, k}, {isTransposed ? 1 : lhsLead, isTransposed ? lhsLead : 1},
                    operands) &&
           (columns ? makeColumns(rhs, k, columns) : makeRhs(rhs, k)) &&
           makeDesc(out, {m, n}, {n, 1}) &&
           primitive.init(lhs, packedRhs ? *packedRhs : rhs, out, threads, adds);
  }

  /// Rows of a matmul with empty sums: zeros, then bias and epilogue.
  void writeEmptySums(void *out, const float *biasData) {
    std::fill(emptyRow.begin(), emptyRow.end(), 0.0f);
    finishRow(emptyRow.data(), biasData, s.n, epilogue);
    for (int64_t row = 0; row < s.batch * s.m; ++row)
      narrow(s.out, emptyRow.data(), out, row * s.n, s.n);
  }

  char *elements(void *base, DataType type, int64_t index) {
    return static_cast<char *>(base) + index * getSize(type);
  }

  /// How a side is stored.
  struct Stored {
    DataType type;
    Rounding rounding = Rounding::None;
  };
  Stored getStoredLhs() const { return {storedLhs, s.lhsRounding}; }
  Stored getStoredRhs() const { return {storedRhs, s.rounding}; }

  /// Copies `count` elements from element `index` on to elements of the multiplied type,
  /// from element `at` on.
  void copyElements(Stored stored, const void *source, int64_t index, void *target,
                    int64_t at, int64_t count) const {
    if (stored.type == operands && stored.rounding == Rounding::None) {
      const int64_t size = getSize(operands);
      std::memcpy(static_cast<char *>(target) + at * size,
                  static_cast<const char *>(source) + index * size, count * size);
    } else if (operands == DataType::BF16 && isF8(stored.type)) {
      widenF8ToBF16(stored.type, source, index, static_cast<uint16_t *>(target) + at,
                    count);
    } else if (operands == DataType::BF16) {
      narrow(DataType::BF16, static_cast<const float *>(source) + index, target, at,
             count);
    } else {
      widen(stored.type, stored.rounding, source, index,
            static_cast<float *>(target) + at, count);
    }
  }

  /// Copies rows [firstRow, firstRow + rows) and columns [firstColumn, + columns) of a
  /// matrix with `lead` columns to a panel of the multiplied type.
  void copyBlock(Stored stored, const void *source, int64_t lead, int64_t firstRow,
                 int64_t rows, int64_t firstColumn, int64_t columns, void *target) const {
    if (firstColumn == 0 && columns == lead)
      return copyElements(stored, source, firstRow * lead, target, 0, rows * lead);
    for (int64_t row = 0; row < rows; ++row)
      copyElements(stored, source, (firstRow + row) * lead + firstColumn, target,
                   row * columns, columns);
  }

  bool copiesRhs() const { return packs || blocks || convertsRhs(); }

  /// Tasks that copying one right side is cut into: repacking is one; else so many
  /// stored rows, or so many elements.
  static constexpr int64_t pieceRows = 64, pieceElements = 65536;
  int64_t countRhsPieces() const {
    if (packs)
      return 1;
    return blocks ? (storedRhsRows() + pieceRows - 1) / pieceRows
                  : (s.k * s.n + pieceElements - 1) / pieceElements;
  }
  int64_t storedRhsRows() const { return s.transposeRhs ? s.n : s.k; }
  /// The right side, or `k` rows of it, from element `first` on.
  StoredRows getRhs(const void *source, int64_t first, int64_t k) const {
    return {storedRhs,
            source,
            first,
            s.transposeRhs ? s.k : s.n,
            s.transposeRhs ? s.n : k,
            s.transposeRhs ? k : s.n,
            s.rounding};
  }

  /// Brings a piece of a right side into the workspace.
  void copyRhs(void *source, int64_t matrix, int64_t piece, char *target, int thread) {
    int64_t size = s.k * s.n;
    if (packs && wholePairs) {
      packPairs(getRhs(source, matrix * size, s.k), s.transposeRhs, wholePairs,
                reinterpret_cast<uint16_t *>(target));
    } else if (packs) {
      char *from = elements(source, storedRhs, matrix * size);
      if (convertsRhs()) {
        char *rounded = target + getRoundedOffset(plan.rhsBytes, size);
        copyElements(getStoredRhs(), from, 0, rounded, 0, size);
        from = rounded;
      }
      if (!pack.run({from, target}, thread))
        failed = true;
    } else if (blocks) {
      StoredRows rhs = getRhs(source, matrix * size, s.k);
      int64_t first = piece * pieceRows;
      packBlocks(rhs, s.transposeRhs, first, std::min(first + pieceRows, rhs.rows),
                 reinterpret_cast<float *>(target));
    } else {
      int64_t first = piece * pieceElements;
      copyElements(getStoredRhs(), source, matrix * size + first, target, first,
                   std::min<int64_t>(pieceElements, size - first));
    }
  }

  void runRows(void **buffers, char *scratch, const float *biasData, ThreadTeam &team) {
    const int64_t pieces = countRhsPieces();
    if (copiesRhs() && plan.rhsCopies)
      parallelFor(plan.rhsCopies * pieces, team, [&](int64_t task, int thread) {
        int64_t matrix = task / pieces;
        copyRhs(buffers[1], matrix, task % pieces, scratch + matrix * plan.rhsBytes,
                thread);
      });
    if (failed)
      return;
    char *panels = scratch + plan.allRhsBytes(threads);
    // All rows of a matrix share the copy that a task makes of its right side.
    const bool joins = copiesRhs() && !plan.rhsCopies;
    const int64_t chunks = joins ? 1 : plan.chunks;
    parallelFor(s.batch * chunks, team, [&](int64_t task, int thread) {
      const int64_t matrix = task / chunks, chunk = task % chunks;
      const int64_t rhsMatrix = s.sharedRhs ? 0 : matrix;
      const void *rhs = elements(buffers[1], storedRhs, rhsMatrix * s.k * s.n);
      if (copiesRhs()) {
        char *copy = scratch + (joins ? thread : rhsMatrix) * plan.rhsBytes;
        for (int64_t piece = 0; joins && piece < pieces; ++piece)
          copyRhs(buffers[1], matrix, piece, copy, thread);
        rhs = copy;
      }
      alignas(64) char stack[MatmulPlan::stackBytes];
      char *panel = getPanels(panels, stack, thread);
      const int64_t begin = chunk * plan.rowChunk, end = joins ? s.m : begin + 1;
      for (int64_t first = begin; first < end; first += plan.rowChunk)
        runRowChunk(buffers, biasData, rhs, matrix, first, panel, thread);
    });
  }
  /// A chunk of the rows of one matrix by its right side.
  void runRowChunk(void **buffers, const float *biasData, const void *rhs, int64_t matrix,
                   int64_t first, char *panels, int thread) {
    auto *panel = reinterpret_cast<float *>(panels);
    const int64_t rows = std::min(plan.rowChunk, s.m - first), base = matrix * s.m * s.k;
    const void *lhs;
    if (turns) {
      transposeToFloats(
          {storedLhs, buffers[0], base + first * s.k, s.k, rows, s.k, s.lhsRounding},
          panel, rows);
      lhs = panel;
      panel += alignUp(plan.rowChunk * s.k * 4) / 4;
    } else if (!copiesLhs()) {
      lhs =
          elements(buffers[0], storedLhs, base + (s.transposeLhs ? first : first * s.k));
    } else {
      const void *source = elements(buffers[0], storedLhs, base);
      copyLhsRows(source, first, rows, 0, s.k, panel);
      lhs = panel;
      panel += alignUp(plan.rowChunk * s.k * 4) / 4;
    }
    int64_t outFirst = (matrix * s.m + first) * s.n;
    float *out = s.out == DataType::F32
                     ? static_cast<float *>(buffers[outIndex]) + outFirst
                     : panel;
    if (!primitives.at({rows, 0, s.k}).run(lhs, rhs, out, thread)) {
      failed = true;
      return;
    }
    if (biasData || epilogue != Epilogue::None)
      for (int64_t row = 0; row < rows; ++row)
        finishRow(out + row * s.n, biasData, s.n, epilogue);
    if (s.out != DataType::F32)
      narrow(s.out, out, buffers[outIndex], outFirst, rows * s.n);
  }

  /// A thread's panels, which begin at `panels` in the workspace unless they are small.
  char *getPanels(char *panels, char *stack, int thread) const {
    return plan.usesStack() ? stack : panels + plan.threadBytes * thread;
  }

  /// Rows of the left side, of a transposed one terms `firstTerm` to before
  /// `firstTerm + terms`.
  void copyLhsRows(const void *source, int64_t first, int64_t rows, int64_t firstTerm,
                   int64_t terms, float *panel) const {
    const StoredRows columns{storedLhs, source,       firstTerm * s.m + first, s.m, terms,
                             rows,      s.lhsRounding};
    if (transposesLhs && blocks)
      transposeToFloats(columns, panel, terms);
    else if (transposesLhs)
      transposeRows(columns, operands, panel);
    else if (s.transposeLhs)
      copyBlock(getStoredLhs(), source, s.m, firstTerm, terms, first, rows, panel);
    else
      copyBlock(getStoredLhs(), source, s.k, first, rows, firstTerm, terms, panel);
  }

  /// Columns [first, first + columns) of the right side as they are multiplied; rows
  /// [firstTerm, firstTerm + terms) of them.
  const void *getColumnPanel(void *source, int64_t first, int64_t columns,
                             int64_t firstTerm, int64_t terms, char *panel, int thread) {
    const int64_t begin =
        s.transposeRhs ? first * s.k + firstTerm : firstTerm * s.n + first;
    const StoredRows rhs{storedRhs,
                         source,
                         begin,
                         s.transposeRhs ? s.k : s.n,
                         s.transposeRhs ? columns : terms,
                         s.transposeRhs ? terms : columns,
                         s.rounding};
    if (blocks) {
      packBlocks(rhs, s.transposeRhs, 0, rhs.rows, reinterpret_cast<float *>(panel));
      return panel;
    }
    if (const int64_t block = packs ? pairs.at({columns, terms}) : 0) {
      packPairs(rhs, s.transposeRhs, block, reinterpret_cast<uint16_t *>(panel));
      return panel;
    }
    if (!packs && transposesRhs()) {
      transposeRows(rhs, operands, panel);
      return panel;
    }
    char *from = elements(source, storedRhs, begin);
    if (convertsRhs() || (!packs && !s.transposeRhs)) {
      char *copy = panel;
      if (packs)
        copy += getRoundedOffset(plan.columnBytes, terms * columns);
      if (s.transposeRhs)
        copyBlock(getStoredRhs(), source, s.k, first, columns, firstTerm, terms, copy);
      else
        copyBlock(getStoredRhs(), source, s.n, firstTerm, terms, first, columns, copy);
      from = copy;
    }
    if (!packs)
      return from;
    if (!columnPacks.at({columns, terms}).run({from, panel}, thread))
      failed = true;
    return panel;
  }

  /// Rows of the result are far apart, so the CPU does not see which is next.
  static constexpr int64_t rowsAhead = 8;
  static void prefetch(const char *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64)
      __builtin_prefetch(from + i, 1);
  }

  void runColumns(void **buffers, char *scratch, const float *biasData,
                  ThreadTeam &team) {
    // With enough columns for all threads, all groups of rows share a panel of them.
    const bool joins = plan.columnChunks >= columnTasks * team.size();
    const int64_t tasksOfColumns = joins ? 1 : plan.rowGroups;
    parallelFor(plan.columnChunks * tasksOfColumns, team, [&](int64_t task, int thread) {
      const int64_t chunk = task / tasksOfColumns, group = task % tasksOfColumns,
                    firstColumn = chunk * plan.columnChunk, columns = getColumns(chunk);
      alignas(64) char stack[MatmulPlan::stackBytes];
      char *panel = getPanels(scratch, stack, thread);
      const int64_t firstRow = group * plan.rowGroup,
                    endRow = joins ? s.m : std::min(firstRow + plan.rowGroup, s.m);
      // Sums that the panel holds are finished before those of other rows.
      const int64_t turn = plan.keepsSums ? plan.rowGroup : endRow - firstRow;
      for (int64_t first = firstRow; first < endRow; first += turn)
        for (int64_t term = 0; term < s.k; term += plan.depth) {
          const int64_t end = std::min(first + turn, endRow);
          const void *rhs =
              getColumnPanel(buffers[1], firstColumn, columns, term,
                             std::min(plan.depth, s.k - term), panel, thread);
          for (int64_t begin = first; begin < end; begin += plan.rowGroup)
            runColumnTask(buffers, biasData, rhs, firstColumn, columns, begin,
                          std::min(begin + plan.rowGroup, end), term, panel, thread);
        }
    });
  }
  /// Some rows by some columns, with the next terms of each sum.
  void runColumnTask(void **buffers, const float *biasData, const void *rhs,
                     int64_t firstColumn, int64_t columns, int64_t begin, int64_t end,
                     int64_t firstTerm, char *panel, int thread) {
    const int64_t terms = std::min(plan.depth, s.k - firstTerm);
    const bool isFirst = firstTerm == 0, isLast = firstTerm + terms == s.k;
    auto *result = reinterpret_cast<float *>(panel + plan.columnBytes);
    const int64_t resultFloats = alignUp(rowStep * plan.columnChunk * 4) / 4;
    float *kept = plan.keepsSums ? result + resultFloats : nullptr;
    float *rowPanel = result + (kept ? 2 : 1) * resultFloats;
    for (int64_t first = begin; first < end; first += rowStep) {
      const int64_t rows = std::min(rowStep, end - first);
      const void *lhs =
          elements(buffers[0], storedLhs,
                   s.transposeLhs ? firstTerm * s.m + first : first * s.k + firstTerm);
      if (copiesLhs()) {
        copyLhsRows(buffers[0], first, rows, firstTerm, terms, rowPanel);
        lhs = rowPanel;
      }
      const bool isDirect = isFirst && columns == s.n && s.out == DataType::F32;
      float *out = isDirect ? static_cast<float *>(buffers[outIndex]) + first * s.n
                   : kept && isFirst ? kept
                                     : result;
      if (!primitives.at({rows, columns, terms}).run(lhs, rhs, out, thread)) {
        failed = true;
        return;
      }
      for (int64_t row = 0; row < rows; ++row) {
        float *sums = out + row * columns;
        const int64_t at = (first + row) * s.n + firstColumn;
        if (!isFirst) {
          const float *before = kept ? kept + row * columns
                                     : static_cast<const float *>(buffers[outIndex]) + at;
          float *total = kept ? kept + row * columns : sums;
          for (int64_t i = 0; i < columns; ++i)
            total[i] = sums[i] + before[i];
          sums = total;
        }
        if (kept && !isLast)
          continue;
        if (isLast && (biasData || epilogue != Epilogue::None))
          finishRow(sums, biasData ? biasData + firstColumn : nullptr, columns, epilogue);
        if (isDirect)
          continue;
        if (row + rowsAhead < rows)
          prefetch(elements(buffers[outIndex], s.out, at + rowsAhead * s.n),
                   columns * getSize(s.out));
        narrow(s.out, sums, buffers[outIndex], at, columns);
      }
    }
  }

  /// Terms [first, first + length) of all sums: the result, or added to it.
  void multiplyTerms(void **buffers, int64_t first, int64_t length, bool adds,
                     float *panel, float *result, int thread) {
    auto side = [&](Stored stored, void *buffer, bool sumIsRows, int64_t other,
                    bool copies) -> const void * {
      // The stored matrix has the summed dimension as rows or as columns.
      if (!copies && !blocks)
        return elements(buffer, stored.type, sumIsRows ? first * other : first);
      float *target = panel;
      if (sumIsRows)
        copyBlock(stored, buffer, other, first, length, 0, other, target);
      else
        copyBlock(stored, buffer, s.k, 0, other, first, length, target);
      panel += alignUp(depth * other * getSize(operands)) / 4;
      return target;
    };
    const void *lhs = panel;
    if (turns) {
      transposeToFloats({storedLhs, buffers[0], first, s.k, s.m, length, s.lhsRounding},
                        panel, s.m);
      panel += alignUp(depth * s.m * 4) / 4;
    } else {
      lhs = side(getStoredLhs(), buffers[0], s.transposeLhs, s.m, copiesLhs());
    }
    const void *rhs = panel;
    if (blocks) {
      StoredRows stored =
          getRhs(buffers[1], s.transposeRhs ? first : first * s.n, length);
      packBlocks(stored, s.transposeRhs, 0, stored.rows, panel);
    } else {
      rhs = side(getStoredRhs(), buffers[1], !s.transposeRhs, s.n, copiesRhsChunk());
    }
    if (!primitives.at({s.m, 0, length, adds}).run(lhs, rhs, result, thread))
      failed = true;
  }

  void runSums(void **buffers, char *scratch, const float *biasData, ThreadTeam &team) {
    char *partials = scratch + (plan.usesStack() ? 0 : plan.threadBytes * threads);
    int64_t partialFloats = plan.partialBytes / 4;
    auto *sums = reinterpret_cast<float *>(partials);
    auto multiplyChunk = [&](int64_t chunk, float *result, int thread) {
      alignas(64) char stack[MatmulPlan::stackBytes];
      auto *panel = reinterpret_cast<float *>(getPanels(scratch, stack, thread));
      const int64_t begin = chunk * plan.sumChunk,
                    end = std::min(begin + plan.sumChunk, s.k);
      for (int64_t first = begin; first < end && !failed; first += depth)
        multiplyTerms(buffers, first, std::min(depth, end - first), first > begin, panel,
                      result, thread);
    };
    const int64_t slots = plan.partialResults(threads);
    const int64_t rowsPerTask = std::max<int64_t>(1, 16384 / std::max<int64_t>(s.n, 1));
    const int64_t tasks = (s.m + rowsPerTask - 1) / rowsPerTask;
    // The first chunk's result becomes the sum; those of the next ones lie after it.
    for (int64_t done = 0; done < plan.chunks;) {
      const int64_t begin = done == 0 ? 0 : 1,
                    some = std::min(slots - begin, plan.chunks - done);
      parallelFor(some, team, [&](int64_t i, int thread) {
        multiplyChunk(done + i, sums + (begin + i) * partialFloats, thread);
      });
      if (failed)
        return;
      done += some;
      // The partial results in order, a few rows a task.
      parallelFor(tasks, team, [&](int64_t task, int) {
        int64_t first = task * rowsPerTask * s.n;
        int64_t count = std::min(rowsPerTask * s.n, s.m * s.n - first);
        float *total = sums + first;
        for (int64_t slot = 1; slot < begin + some; ++slot) {
          const float *partial = sums + slot * partialFloats + first;
          for (int64_t i = 0; i < count; ++i)
            total[i] += partial[i];
        }
        if (done < plan.chunks)
          return;
        if (biasData || epilogue != Epilogue::None)
          for (int64_t row = 0; row < count / s.n; ++row)
            finishRow(total + row * s.n, biasData, s.n, epilogue);
        narrow(s.out, total, buffers[outIndex], first, count);
      });
    }
  }

  MatmulShape s;
  MatmulPlan plan;
  DataType storedLhs = DataType::F32, storedRhs = DataType::F32;
  /// Rows of a matmul by a panel of columns.
  int64_t rowStep = 0;
  /// Terms of a long sum that are multiplied at a time.
  int64_t depth = 0;
  /// What both sides are multiplied in, and whether `pack` repacks the right one.
  DataType operands = DataType::F32;
  bool packs = false;
  /// Whether the right side is brought into blocks, for convolutions of 1x1.
  bool blocks = false;
  /// Whether the left side is transposed.
  bool turns = false, hasBias = false;
  /// Whether rows of a transposed left side are brought into rows.
  bool transposesLhs = false;
  /// Columns of a block of a whole right side that packPairs packs.
  int64_t wholePairs = 0;
  /// Whether chunks of a side that is not widened are copied, so that they are dense.
  bool gathersLhs = false, gathersRhs = false, wantsDense = false;
  /// Whether the CPU multiplies faster by convolutions of 1x1.
  bool prefersConvs = false;
  Epilogue epilogue = Epilogue::None;
  int64_t threads = 1;
  BufferRef bias;
  uint32_t outIndex = 2;
  std::vector<float> biasRow, emptyRow;
  /// By (rows, columns, summed length, whether it adds), with 0 columns where they are
  /// not cut.
  std::map<std::array<int64_t, 4>, MatmulPrimitive> primitives;
  Primitive pack;
  /// By (columns, summed length).
  std::map<std::pair<int64_t, int64_t>, Primitive> columnPacks;
  /// By the same: columns of a block of pairs of rows, or 0 if oneDNN packs them.
  std::map<std::pair<int64_t, int64_t>, int64_t> pairs;
  std::atomic<bool> failed{false};
};

} // namespace

std::unique_ptr<Call> mpt::rt::makeMatmul(const Instruction &instruction,
                                          int64_t maxThreads, bool fastBF16,
                                          std::string &error) {
  if (std::unique_ptr<Call> batch = makeBatchMatmul(instruction))
    return batch;
  if (std::unique_ptr<Call> small = makeSmallMatmul(instruction, fastBF16))
    return small;
  return makeLibraryMatmul(instruction, maxThreads, fastBF16, error);
}

std::unique_ptr<Call> mpt::rt::makeLibraryMatmul(const Instruction &instruction,
                                                 int64_t maxThreads, bool fastBF16,
                                                 std::string &error) {
  auto call = std::make_unique<Matmul>();
  call->init(instruction, maxThreads, fastBF16);
  if (!call->prepare()) {
    error = "oneDNN has no matmul for these shapes";
    return nullptr;
  }
  return call;
}
