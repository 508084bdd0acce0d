//===- ProgramFormat.cpp - The serialized program -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/ProgramABI/ProgramFormat.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/CudnnPlan.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <type_traits>

using namespace mpt::rt;

std::string mpt::rt::findObstacleToNode(const Program &program, const Loop &loop,
                                        size_t depth) {
  auto moves = [&](const BufferRef &ref) {
    return ref.strides.size() >= depth && ref.strides[depth - 1] != 0;
  };
  bool isMoving = moves(*loop.condition);
  for (size_t i = loop.begin; i < loop.end; ++i) {
    const Instruction &instruction = program.instructions[i];
    if (instruction.call && getRanks(*instruction.call) > 0)
      return " has a condition and exchanges values between ranks, which programs for "
             "GPUs cannot have; compile it for CPUs";
    isMoving |= std::any_of(instruction.refs.begin(), instruction.refs.end(), moves);
  }
  return isMoving ? " has a condition and buffers that move in it, which programs for "
                    "GPUs cannot have; compile it for CPUs"
                  : "";
}

namespace {

class Writer {
public:
  template <typename T>
  void number(T value) {
    out.append(reinterpret_cast<const char *>(&value), sizeof(T));
  }
  void text(const std::string &value) {
    number<uint32_t>(value.size());
    out += value;
  }
  void ref(const BufferRef &buffer) {
    number<uint8_t>(static_cast<uint8_t>(buffer.space));
    number<uint8_t>(static_cast<uint8_t>(buffer.type));
    number<int64_t>(buffer.offset);
    numbers(buffer.dims);
    number<int64_t>(buffer.start);
    numbers(buffer.strides);
  }
  template <typename T>
  void numbers(const std::vector<T> &values) {
    number<uint32_t>(values.size());
    for (T value : values)
      number(value);
  }

  // The fields of a call, as Reader::field reads them.
  void field(bool value) { number<uint8_t>(value); }
  void field(int64_t value) { number(value); }
  void field(double value) { number(value); }
  void field(const std::vector<int64_t> &values) { numbers(values); }
  template <size_t n>
  void field(const std::array<int64_t, n> &values) {
    for (int64_t value : values)
      number(value);
  }
  template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
  void field(Enum value) {
    number(static_cast<int32_t>(value));
  }
  template <typename T>
  void field(const std::optional<T> &value) {
    field(value.has_value());
    if (value)
      field(*value);
  }

  std::string out;
};

/// Reads and remembers whether anything was out of bounds.
class Reader {
public:
  Reader(const uint8_t *data, uint64_t size) : at(data), left(size) {}

  template <typename T>
  T number() {
    T value = T();
    if (left < sizeof(T)) {
      ok = false;
      return value;
    }
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    left -= sizeof(T);
    return value;
  }
  /// A list's length; each entry takes at least `entry` bytes.
  uint32_t length(uint64_t entry) {
    uint32_t count = number<uint32_t>();
    if (count * entry > left) {
      ok = false;
      return 0;
    }
    return count;
  }
  std::string text() {
    uint32_t count = length(1);
    std::string value(reinterpret_cast<const char *>(at), count);
    at += count;
    left -= count;
    return value;
  }
  /// A text that the C interface returns, which ends at its first zero.
  std::string name() {
    std::string value = text();
    hasZero |= value.find('\0') != std::string::npos;
    return value;
  }
  template <typename T>
  std::vector<T> numbers() {
    std::vector<T> values(length(sizeof(T)));
    for (T &value : values)
      value = number<T>();
    return values;
  }
  BufferRef ref() {
    BufferRef buffer;
    buffer.space = static_cast<SpaceId>(number<uint8_t>());
    buffer.type = static_cast<DataType>(number<uint8_t>());
    buffer.offset = number<int64_t>();
    buffer.dims = numbers<int64_t>();
    buffer.start = number<int64_t>();
    buffer.strides = numbers<int64_t>();
    return buffer;
  }

  // The fields of a call; the first that has no valid value is remembered.
  void field(const char *name, bool &value) {
    uint8_t byte = number<uint8_t>();
    value = byte;
    check(name, byte <= 1);
  }
  void field(const char *, int64_t &value) { value = number<int64_t>(); }
  void field(const char *, double &value) { value = number<double>(); }
  void field(const char *, std::vector<int64_t> &values) { values = numbers<int64_t>(); }
  template <size_t n>
  void field(const char *, std::array<int64_t, n> &values) {
    for (int64_t &value : values)
      value = number<int64_t>();
  }
  template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
  void field(const char *name, Enum &value) {
    value = static_cast<Enum>(number<int32_t>());
    check(name, isValid(value));
  }
  template <typename T>
  void field(const char *name, std::optional<T> &value) {
    bool hasValue = false;
    field(name, hasValue);
    if (hasValue)
      field(name, value.emplace());
  }
  void check(const char *name, bool isValid) {
    if (!isValid && !invalid)
      invalid = name;
  }

  const uint8_t *at;
  uint64_t left;
  bool ok = true, hasZero = false;
  const char *invalid = nullptr;
};

/// The bytes that a buffer takes in all iterations of the loops around it, from the start
/// of its space or, of an input or constant, from its own.
struct Extent {
  int64_t begin = 0, end = 0;
};

/// The extent of `buffer` in loops that run `counts` times, the outermost first; nullopt
/// if it is not valid.
std::optional<Extent> getExtent(const BufferRef &buffer,
                                const std::vector<int64_t> &counts) {
  if (buffer.type > DataType::I1 || buffer.space > SpaceId::Constant ||
      buffer.offset < 0 || buffer.start < 0 || buffer.strides.size() > counts.size())
    return std::nullopt;
  int64_t bytes = getSize(buffer.type);
  for (int64_t dim : buffer.dims)
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes))
      return std::nullopt;
  const bool isNumbered =
      buffer.space == SpaceId::Input || buffer.space == SpaceId::Constant;
  if (!isNumbered && buffer.start != 0)
    return std::nullopt;
  Extent extent;
  extent.begin = isNumbered ? buffer.start : buffer.offset;
  if (__builtin_add_overflow(extent.begin, bytes, &extent.end))
    return std::nullopt;
  for (size_t i = 0; i < buffer.strides.size(); ++i) {
    int64_t way, &side = buffer.strides[i] < 0 ? extent.begin : extent.end;
    if (__builtin_mul_overflow(buffer.strides[i], counts[i] - 1, &way) ||
        __builtin_add_overflow(side, way, &side))
      return std::nullopt;
  }
  if (extent.begin < 0)
    return std::nullopt;
  return extent;
}

/// Whether the buffer lies in its space in each iteration of loops that run `counts`
/// times; `inputs` are the bytes of the inputs.
bool isInside(const BufferRef &buffer, const Program &program,
              const std::vector<int64_t> &inputs,
              const std::vector<int64_t> &counts = {}) {
  std::optional<Extent> extent = getExtent(buffer, counts);
  if (!extent)
    return false;
  const int64_t end = extent->end;
  switch (buffer.space) {
  case SpaceId::Arena:
    return end <= program.arenaBytes;
  case SpaceId::State:
    return end <= program.stateBytes;
  case SpaceId::Output:
    return end <= program.outputBytes;
  case SpaceId::Input:
    return buffer.offset < static_cast<int64_t>(inputs.size()) &&
           end <= inputs[buffer.offset];
  case SpaceId::Constant:
    return buffer.offset < static_cast<int64_t>(program.constants.size()) &&
           (end <= static_cast<int64_t>(program.constants[buffer.offset].size()) ||
            // All elements are that one.
            static_cast<int64_t>(program.constants[buffer.offset].size()) ==
                getSize(buffer.type));
  }
  return false;
}

/// Whether the elements lie at multiples of their size and a workspace, which
/// holds floats and lines of the cache, at one of 64.
bool isAligned(const BufferRef &buffer, bool isScratch) {
  const int64_t alignment = isScratch ? 64 : getSize(buffer.type);
  if (buffer.start % alignment != 0)
    return false;
  for (int64_t stride : buffer.strides)
    if (stride % alignment != 0)
      return false;
  return buffer.space == SpaceId::Input || buffer.space == SpaceId::Constant ||
         buffer.offset % alignment == 0;
}

/// Whether two buffers that are inside their space may have a byte in common in one
/// iteration of loops that run `counts` times. Those that move in different ways do if
/// all of their places together do.
bool overlap(const BufferRef &a, const BufferRef &b,
             const std::vector<int64_t> &counts = {}) {
  if (a.space != b.space || a.space == SpaceId::Input)
    return false;
  if (a.space == SpaceId::Constant)
    return a.offset == b.offset;
  if (a.strides == b.strides)
    return a.offset < b.offset + b.bytes() && b.offset < a.offset + a.bytes();
  const std::optional<Extent> first = getExtent(a, counts), second = getExtent(b, counts);
  return !first || !second || (first->begin < second->end && second->begin < first->end);
}

/// What is wrong with the loops of `program`, whose inputs have so many bytes; empty if
/// nothing is.
std::string findBadLoop(const Program &program, const std::vector<int64_t> &inputs) {
  std::vector<const Loop *> around;
  std::vector<int64_t> iterations, counts;
  uint32_t begin = 0;
  for (size_t i = 0; i < program.loops.size(); ++i) {
    const Loop &loop = program.loops[i];
    const std::string what = "loop " + std::to_string(i);
    if (loop.begin >= loop.end || loop.end > program.instructions.size())
      return what + " runs instructions that are not in the program";
    if (loop.count < 1 || loop.count > kMaxIterations)
      return what + " runs " + std::to_string(loop.count) + " times; expected 1 to 2^32";
    if (loop.begin < begin)
      return what + " comes after one that begins later";
    begin = loop.begin;
    while (!around.empty() && around.back()->end <= loop.begin) {
      around.pop_back();
      iterations.pop_back();
      counts.pop_back();
    }
    if (!around.empty() && loop.end > around.back()->end)
      return what + " ends after the loop that it is in";
    // Both factors are below 2^33.
    const int64_t all =
        (iterations.empty() ? 1 : iterations.back()) * (loop.condition ? 1 : loop.count);
    if (all > kMaxIterations)
      return what + " and those around it run more than 2^32 times";
    around.push_back(&loop);
    iterations.push_back(all);
    counts.push_back(loop.count);
    if (!loop.condition)
      continue;
    if (program.target.rfind("cuda", 0) == 0)
      if (std::string why = findObstacleToNode(program, loop, around.size());
          !why.empty())
        return what + why;
    if (loop.condition->type != DataType::I1 || loop.condition->count() != 1 ||
        !isInside(*loop.condition, program, inputs, counts))
      return what + " has a condition that is no truth value in its space";
  }
  return "";
}

/// The counts of the loops around each instruction in turn, of a program whose loops are
/// valid.
class LoopCounts {
public:
  explicit LoopCounts(const Program &program) : program(program) {}
  /// Of instruction `i`, which is not below that of the call before.
  const std::vector<int64_t> &get(size_t i) {
    while (!ends.empty() && ends.back() <= i) {
      ends.pop_back();
      counts.pop_back();
    }
    for (; next < program.loops.size() && program.loops[next].begin == i; ++next) {
      ends.push_back(program.loops[next].end);
      counts.push_back(program.loops[next].count);
    }
    return counts;
  }

private:
  const Program &program;
  size_t next = 0;
  std::vector<size_t> ends;
  std::vector<int64_t> counts;
};

/// The exchanges that run beside the instructions of a program.
class PendingExchanges {
public:
  /// What is wrong with `instruction`, which comes next, in loops that run `counts`
  /// times; empty if nothing is. Its buffers are inside their spaces.
  std::string visit(const Instruction &instruction, const std::vector<int64_t> &counts) {
    if (instruction.getCall<WaitCall>()) {
      if (pending.empty() || !counts.empty() || !isSame(*pending.front(), instruction))
        return "waits for an exchange that is not the next one to end";
      pending.pop_front();
      collect();
      return "";
    }
    const bool isExchange = instruction.call && getRanks(*instruction.call) > 0;
    for (size_t i = 0; i < instruction.refs.size(); ++i)
      if (isTaken(instruction.refs[i], i >= instruction.numInputs,
                  isExchange && i >= getScratch(instruction), counts))
        return "uses a buffer of an exchange that is under way";
    if (!instruction.call || !isAsync(*instruction.call))
      return "";
    if (!counts.empty())
      return "begins an exchange in a loop, where nothing can wait for it";
    pending.push_back(&instruction);
    collect();
    return "";
  }
  bool isEmpty() const { return pending.empty(); }

private:
  struct Place {
    SpaceId space;
    int64_t begin, end;
    bool isWritten, isScratch;
    /// Of this and all before it in the space.
    int64_t lastEnd = 0;
  };

  static size_t getScratch(const Instruction &instruction) {
    return size_t(instruction.numInputs) + instruction.numOutputs;
  }
  static bool isSame(const Instruction &a, const Instruction &b) {
    auto key = [](const BufferRef &ref) {
      return std::tie(ref.space, ref.type, ref.offset, ref.dims, ref.start, ref.strides);
    };
    return a.numInputs == b.numInputs && a.numOutputs == b.numOutputs &&
           std::equal(
               a.refs.begin(), a.refs.end(), b.refs.begin(), b.refs.end(),
               [&](const BufferRef &x, const BufferRef &y) { return key(x) == key(y); });
  }
  /// Inputs and constants are never written.
  static bool isFixed(const BufferRef &ref) {
    return ref.space == SpaceId::Input || ref.space == SpaceId::Constant;
  }

  void collect() {
    places.clear();
    for (const Instruction *exchange : pending)
      for (size_t i = 0; i < exchange->refs.size(); ++i)
        if (const BufferRef &ref = exchange->refs[i]; !isFixed(ref))
          places.push_back({ref.space, ref.offset, ref.offset + ref.bytes(),
                            i >= exchange->numInputs, i >= getScratch(*exchange)});
    std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
      return std::tie(a.space, a.begin) < std::tie(b.space, b.begin);
    });
    for (size_t i = 0; i < places.size(); ++i) {
      places[i].lastEnd = places[i].end;
      if (i > 0 && places[i - 1].space == places[i].space)
        places[i].lastEnd = std::max(places[i].end, places[i - 1].lastEnd);
    }
  }

  /// Whether an exchange writes there, or reads there what is written now. They run one
  /// after the other, so that they may have one workspace.
  bool isTaken(const BufferRef &ref, bool isWritten, bool isExchangeScratch,
               const std::vector<int64_t> &counts) const {
    if (places.empty() || isFixed(ref))
      return false;
    const std::optional<Extent> extent = getExtent(ref, counts);
    if (!extent)
      return true;
    auto at = std::partition_point(places.begin(), places.end(), [&](const Place &place) {
      return std::tie(place.space, place.begin) < std::tie(ref.space, extent->end);
    });
    while (at != places.begin()) {
      --at;
      if (at->space != ref.space || at->lastEnd <= extent->begin)
        return false;
      if (at->end > extent->begin && at->begin < extent->end &&
          (isWritten || at->isWritten) && !(isExchangeScratch && at->isScratch))
        return true;
    }
    return false;
  }

  std::deque<const Instruction *> pending;
  std::vector<Place> places;
};

/// What is wrong with how `tensor` begins; empty if nothing is.
std::string findBadFirstValue(const NamedTensor &tensor, const Program &program) {
  const bool isState = tensor.buffer.space == SpaceId::State;
  if (tensor.init) {
    if (!isState)
      return "has a first value but is not state";
    if (const char *requirement = getRequirement(*tensor.init))
      return std::string("has a first value without ") + requirement;
    if (tensor.init->isRandom() && tensor.buffer.type > DataType::F8E5M2)
      return "has a random first value but is not of floats";
  }
  if (tensor.lowOf.empty())
    return "";
  for (const NamedTensor &other : program.tensors)
    if (other.name == tensor.lowOf && other.buffer.space == SpaceId::State)
      return isState && tensor.buffer.type == DataType::I16 &&
                     other.buffer.type == DataType::BF16 &&
                     tensor.buffer.dims == other.buffer.dims
                 ? ""
                 : "is not the low half of '" + tensor.lowOf + "'";
  return "is the low half of '" + tensor.lowOf + "', which is not state";
}

} // namespace

std::vector<int64_t> mpt::rt::getConstantBytes(const Program &program) {
  std::vector<int64_t> bytes(program.constants.size(), 0);
  LoopCounts loops(program);
  auto visit = [&](const BufferRef &ref, const std::vector<int64_t> &counts) {
    if (ref.space == SpaceId::Constant)
      if (std::optional<Extent> extent = getExtent(ref, counts))
        bytes[ref.offset] = std::max(bytes[ref.offset], extent->end);
  };
  size_t next = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const std::vector<int64_t> &counts = loops.get(i);
    for (const BufferRef &ref : program.instructions[i].refs)
      visit(ref, counts);
    for (; next < program.loops.size() && program.loops[next].begin == i; ++next)
      if (program.loops[next].condition)
        visit(*program.loops[next].condition, counts);
  }
  return bytes;
}

void mpt::rt::fillConstant(const std::string &value, int64_t bytes, char *data) {
  if (value.empty())
    return;
  // Copies what is there already, so that short values take few copies.
  int64_t done = std::min<int64_t>(bytes, value.size());
  std::memcpy(data, value.data(), done);
  while (done < bytes) {
    int64_t count = std::min(done, bytes - done);
    std::memcpy(data + done, data, count);
    done += count;
  }
}

std::string mpt::rt::writeProgram(const Program &program) {
  Writer w;
  w.text(program.name);
  w.text(program.target);
  w.text(program.version);
  for (int64_t value :
       {program.maxThreads, program.arenaBytes, program.stateBytes, program.outputBytes})
    w.number(value);
  w.number<uint32_t>(program.constants.size());
  for (const std::string &constant : program.constants)
    w.text(constant);
  w.number<uint32_t>(program.tensors.size());
  for (const NamedTensor &tensor : program.tensors) {
    w.text(tensor.name);
    w.text(tensor.role);
    w.ref(tensor.buffer);
    w.text(tensor.lowOf);
    const InitSpec init = tensor.init.value_or(InitSpec());
    w.number<uint8_t>(tensor.init ? 1 + static_cast<int>(init.kind) : 0);
    for (double value : init.numbers)
      w.number(value);
    w.number(tensor.key);
  }
  w.number<uint32_t>(program.instructions.size());
  for (const Instruction &instruction : program.instructions) {
    w.number<uint8_t>(instruction.isCall());
    if (instruction.call) {
      w.number(static_cast<uint32_t>(getId(*instruction.call)));
      std::visit(
          [&](const auto &call) {
            call.forEachField(call,
                              [&](const char *, const auto &field) { w.field(field); });
          },
          *instruction.call);
      if (isCudnnCall(instruction))
        for (int64_t count : {instruction.parts.before, instruction.parts.after,
                              instruction.parts.fallback})
          w.number(count);
    } else {
      w.number(instruction.kernel);
      w.number(instruction.tasks);
      w.number<uint8_t>(instruction.replacesEpilogue);
    }
    w.number(instruction.numInputs);
    w.number(instruction.numOutputs);
    w.number<uint8_t>(instruction.hasScratch);
    w.number<uint32_t>(instruction.refs.size());
    for (const BufferRef &buffer : instruction.refs)
      w.ref(buffer);
    w.text(instruction.location);
  }
  w.number<uint32_t>(program.loops.size());
  for (const Loop &loop : program.loops) {
    w.number(loop.begin);
    w.number<uint32_t>(loop.end - loop.begin);
    w.number(loop.count);
    w.number<uint8_t>(loop.condition.has_value());
    if (loop.condition)
      w.ref(*loop.condition);
  }
  return w.out;
}

bool mpt::rt::readProgram(const uint8_t *data, uint64_t size, uint64_t numKernels,
                          Program &program, std::string &error) {
  Reader r(data, size);
  auto fail = [&](const std::string &what) {
    error = what;
    return false;
  };
  program.name = r.name();
  program.target = r.name();
  program.version = r.name();
  program.maxThreads = r.number<int64_t>();
  program.arenaBytes = r.number<int64_t>();
  program.stateBytes = r.number<int64_t>();
  program.outputBytes = r.number<int64_t>();
  if (program.maxThreads < 1 || program.maxThreads > kMaxProgramThreads)
    return fail("the program is planned for " + std::to_string(program.maxThreads) +
                " threads; expected 1 to " + std::to_string(kMaxProgramThreads));
  if (program.arenaBytes < 0 || program.stateBytes < 0 || program.outputBytes < 0 ||
      program.arenaBytes > kMaxProgramBytes || program.stateBytes > kMaxProgramBytes ||
      program.outputBytes > kMaxProgramBytes)
    return fail("the program's sizes are not valid");
  program.constants.resize(r.length(4));
  for (std::string &constant : program.constants)
    constant = r.text();
  program.tensors.resize(r.length(63));
  for (NamedTensor &tensor : program.tensors) {
    tensor.name = r.name();
    tensor.role = r.name();
    tensor.buffer = r.ref();
    tensor.lowOf = r.text();
    const int kind = r.number<uint8_t>();
    InitSpec init{static_cast<InitKind>(kind - 1), {}};
    for (double &value : init.numbers)
      value = r.number<double>();
    tensor.key = r.number<uint64_t>();
    if (kind > 1 + static_cast<int>(InitKind::XavierUniform))
      return fail("tensor '" + tensor.name + "' begins with a value of an unknown kind");
    if (kind)
      tensor.init = init;
  }
  program.instructions.resize(r.length(22));
  for (size_t i = 0; i < program.instructions.size() && r.ok; ++i) {
    Instruction &instruction = program.instructions[i];
    bool isCall = false;
    r.field("is_call", isCall);
    if (isCall) {
      instruction.call = createCall(r.number<uint32_t>());
      if (!instruction.call)
        return fail("instruction " + std::to_string(i) +
                    " runs something that is not in the program");
      std::visit(
          [&](auto &call) {
            call.forEachField(
                call, [&](const char *name, auto &field) { r.field(name, field); });
          },
          *instruction.call);
      if (isCudnnCall(instruction))
        for (int64_t *count : {&instruction.parts.before, &instruction.parts.after,
                               &instruction.parts.fallback})
          *count = r.number<int64_t>();
    } else {
      instruction.kernel = r.number<uint32_t>();
      instruction.tasks = r.number<int64_t>();
      r.field("replaces_epilogue", instruction.replacesEpilogue);
    }
    if (r.ok && r.invalid)
      return fail("instruction " + std::to_string(i) +
                  (isCall ? std::string(" (") + getName(*instruction.call) + ")" : "") +
                  " has no valid value of '" + r.invalid + "'");
    instruction.numInputs = r.number<uint32_t>();
    instruction.numOutputs = r.number<uint32_t>();
    instruction.hasScratch = r.number<uint8_t>();
    instruction.refs.resize(r.length(26));
    for (BufferRef &buffer : instruction.refs)
      buffer = r.ref();
    instruction.location = r.name();
  }
  program.loops.resize(r.length(17));
  for (Loop &loop : program.loops) {
    loop.begin = r.number<uint32_t>();
    const uint32_t length = r.number<uint32_t>();
    // One that is too long is found below.
    loop.end = loop.begin + std::min(length, UINT32_MAX - loop.begin);
    loop.count = r.number<int64_t>();
    bool hasCondition = false;
    r.field("has_condition", hasCondition);
    if (hasCondition)
      loop.condition = r.ref();
  }
  if (!r.ok || r.invalid || r.left != 0)
    return fail("the program's table is cut short or has extra bytes");
  if (r.hasZero)
    return fail("a name in the program's table has a zero byte");
  // Inputs are numbered from 0, each number once.
  int64_t numInputs = 0;
  for (const NamedTensor &tensor : program.tensors)
    numInputs += tensor.buffer.space == SpaceId::Input;
  std::vector<int64_t> inputs(numInputs, INT64_MAX);
  for (const NamedTensor &tensor : program.tensors) {
    if (tensor.buffer.start != 0 || !isInside(tensor.buffer, program, inputs))
      return fail("tensor '" + tensor.name + "' lies outside its space");
    if (!isAligned(tensor.buffer, false))
      return fail("tensor '" + tensor.name + "' is misaligned");
    if (std::string why = findBadFirstValue(tensor, program); !why.empty())
      return fail("tensor '" + tensor.name + "' " + why);
    if (tensor.buffer.space != SpaceId::Input)
      continue;
    if (inputs[tensor.buffer.offset] != INT64_MAX)
      return fail("two inputs have the number of '" + tensor.name + "'");
    inputs[tensor.buffer.offset] = tensor.buffer.bytes();
  }
  std::vector<const NamedTensor *> state;
  for (const NamedTensor &tensor : program.tensors)
    if (tensor.buffer.space == SpaceId::State && tensor.buffer.bytes() > 0)
      state.push_back(&tensor);
  std::sort(state.begin(), state.end(), [](const NamedTensor *a, const NamedTensor *b) {
    return std::tie(a->buffer.offset, a->name) < std::tie(b->buffer.offset, b->name);
  });
  for (size_t i = 1; i < state.size(); ++i)
    if (overlap(state[i - 1]->buffer, state[i]->buffer))
      return fail("the tensors '" + state[i - 1]->name + "' and '" + state[i]->name +
                  "' overlap in the state");
  if (std::string why = findBadLoop(program, inputs); !why.empty())
    return fail(why);
  LoopCounts loops(program);
  PendingExchanges exchanges;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction &instruction = program.instructions[i];
    const std::vector<int64_t> &counts = loops.get(i);
    std::string where = "instruction " + std::to_string(i);
    if (instruction.refs.size() !=
        uint64_t(instruction.numInputs) + instruction.numOutputs + instruction.hasScratch)
      return fail(where + " has a wrong number of buffers");
    if (!instruction.isCall() && instruction.kernel >= numKernels)
      return fail(where + " runs something that is not in the program");
    if (instruction.tasks < 0)
      return fail(where + " has a negative number of tasks");
    for (const BufferRef &buffer : instruction.refs) {
      if (!isInside(buffer, program, inputs, counts))
        return fail(where + " uses a buffer outside its space");
      bool isScratch = instruction.hasScratch && &buffer == &instruction.refs.back();
      if (!isAligned(buffer, isScratch))
        return fail(where + " uses a misaligned buffer");
    }
    for (size_t at = instruction.numInputs; at < instruction.refs.size(); ++at)
      if (instruction.refs[at].space == SpaceId::Input ||
          instruction.refs[at].space == SpaceId::Constant)
        return fail(where + " writes an input or a constant");
    if (std::string why = exchanges.visit(instruction, counts); !why.empty())
      return fail(where + " " + why);
    // Kernels may work in place; so may calls that say so, and an all_reduce, tensor by
    // tensor, and who waits for one.
    const bool isAllReduce =
        instruction.getCall<AllReduceCall>() || instruction.getCall<WaitCall>();
    auto isInPlace = [&](size_t output, size_t input) {
      const BufferRef &to = instruction.refs[output], &from = instruction.refs[input];
      const bool isPair =
          isAllReduce
              ? output < 2 * size_t(instruction.numInputs) &&
                    output - input == instruction.numInputs
              : input < instruction.numInputs &&
                    mayOverwrite(instruction, uint32_t(output) - instruction.numInputs,
                                 uint32_t(input));
      return isPair && to.offset == from.offset && to.bytes() == from.bytes() &&
             to.strides == from.strides;
    };
    // Gradients of attention may be columns of one tensor, between each other.
    const size_t outputs = instruction.getCall<CudnnAttentionGradCall>()
                               ? size_t(instruction.numInputs) + instruction.numOutputs
                               : 0;
    for (size_t at = instruction.numInputs;
         instruction.isCall() && at < instruction.refs.size(); ++at)
      for (size_t other = 0; other < (at < outputs ? instruction.numInputs : at); ++other)
        if (overlap(instruction.refs[at], instruction.refs[other], counts) &&
            !isInPlace(at, other))
          return fail(where + " writes over a buffer that it reads");
  }
  if (!exchanges.isEmpty())
    return fail("the program begins an exchange that it does not wait for");
  int64_t total = program.arenaBytes + program.stateBytes + program.outputBytes;
  for (int64_t bytes : getConstantBytes(program))
    total = std::min(total, kMaxProgramBytes) + std::min(bytes, kMaxProgramBytes);
  if (total > kMaxProgramBytes)
    return fail("the program needs more than 2^46 bytes");
  return true;
}

//===----------------------------------------------------------------------===//
// Values of state
//===----------------------------------------------------------------------===//

/// Where values begin: at multiples of a cache line.
static constexpr uint64_t kValueAlignment = 64;

bool mpt::rt::writeStateValues(std::vector<StateValue> values,
                               const std::vector<int64_t> &elementSizes,
                               uint64_t maxBytes, std::string &block,
                               std::string &error) {
  auto align = [](uint64_t bytes) {
    return (bytes + kValueAlignment - 1) / kValueAlignment * kValueAlignment;
  };
  uint64_t begin = sizeof(uint32_t);
  for (const StateValue &value : values)
    begin += sizeof(uint32_t) + value.name.size() + 2 * sizeof(uint64_t);
  begin = align(begin);
  uint64_t end = begin;
  Writer w;
  w.number<uint32_t>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    StateValue &value = values[i];
    // Equal to itself, moved by one element.
    const uint64_t element = elementSizes[i];
    if (value.size > element &&
        std::memcmp(value.data, value.data + element, value.size - element) == 0)
      value.size = element;
    w.text(value.name);
    w.number<uint64_t>(end);
    w.number<uint64_t>(value.size);
    end = align(end + value.size);
  }
  if (end > maxBytes) {
    error = "the values of state take " + std::to_string(end) +
            " bytes, expected at most " + std::to_string(maxBytes) +
            "; compile the step without them, and give them to who runs it as a file";
    return false;
  }
  block = std::move(w.out);
  block.reserve(end);
  block.resize(begin);
  for (const StateValue &value : values) {
    block.append(reinterpret_cast<const char *>(value.data), value.size);
    block.resize(align(block.size()));
  }
  return true;
}

bool mpt::rt::readStateValues(const uint8_t *block, uint64_t size, const Program &program,
                              std::vector<StateValue> &values, std::string &error) {
  values.assign(program.tensors.size(), {});
  if (!block)
    return true;
  auto fail = [&](const std::string &what) {
    error = "the program's values of state " + what;
    return false;
  };
  Reader r(block, size);
  const uint32_t count = r.length(sizeof(uint32_t) + 2 * sizeof(uint64_t));
  for (uint32_t i = 0; i < count && r.ok; ++i) {
    StateValue value;
    value.name = r.text();
    const uint64_t offset = r.number<uint64_t>();
    value.size = r.number<uint64_t>();
    if (!r.ok)
      break;
    auto tensor = std::find_if(program.tensors.begin(), program.tensors.end(),
                               [&](const NamedTensor &candidate) {
                                 return candidate.buffer.space == SpaceId::State &&
                                        candidate.name == value.name;
                               });
    if (tensor == program.tensors.end())
      return fail("have one for '" + value.name + "', which is not part of its state");
    const uint64_t bytes = tensor->buffer.bytes();
    if (value.size != bytes &&
        (bytes == 0 || value.size != uint64_t(getSize(tensor->buffer.type))))
      return fail("have " + std::to_string(value.size) + " bytes for '" + value.name +
                  "', expected " + std::to_string(bytes));
    if (offset > size || value.size > size - offset)
      return fail("lie outside their block ('" + value.name + "')");
    value.data = block + offset;
    StateValue &place = values[tensor - program.tensors.begin()];
    if (place.data)
      return fail("have two for '" + value.name + "'");
    place = std::move(value);
  }
  return r.ok || fail("are cut short");
}
