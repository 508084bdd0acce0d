//===- CallOps.cpp - Library calls as ops and as structs -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/IR/Program.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace mpt::program {
namespace {

/// Hands out buffers in order.
class Buffers {
public:
  explicit Buffers(ValueRange buffers) : left(buffers) {}
  /// The next one, or null if the call has none in this place.
  Value next(bool isPresent) {
    if (!isPresent || left.empty())
      return Value();
    Value buffer = left.front();
    left = left.drop_front();
    return buffer;
  }
  /// The next `count`, or as many as there are.
  ValueRange next(int64_t count) {
    ValueRange buffers =
        left.take_front(std::clamp<int64_t>(count, 0, static_cast<int64_t>(left.size())));
    left = left.drop_front(buffers.size());
    return buffers;
  }

private:
  ValueRange left;
};

// From an op's attribute to the member of a struct.
void convert(bool from, bool &to) { to = from; }
void convert(uint64_t from, int64_t &to) { to = static_cast<int64_t>(from); }
void convert(const APFloat &from, double &to) { to = from.convertToDouble(); }
void convert(ArrayRef<int64_t> from, std::vector<int64_t> &to) { to = from.vec(); }
template <size_t n>
void convert(ArrayRef<int64_t> from, std::array<int64_t, n> &to) {
  // The op's verifier knows the length.
  llvm::copy(from.take_front(n), to.begin());
}
template <typename From, typename To, std::enable_if_t<std::is_enum_v<To>, int> = 0>
void convert(From from, To &to) {
  to = static_cast<To>(from);
}
template <typename From, typename To>
void convert(const std::optional<From> &from, std::optional<To> &to) {
  if (from)
    convert(*from, to.emplace());
}

// And back.
bool attribute(OpBuilder &, bool value) { return value; }
int64_t attribute(OpBuilder &, int64_t value) { return value; }
APFloat attribute(OpBuilder &, double value) { return APFloat(value); }
ArrayRef<int64_t> attribute(OpBuilder &, const std::vector<int64_t> &values) {
  return values;
}
template <size_t n>
ArrayRef<int64_t> attribute(OpBuilder &, const std::array<int64_t, n> &values) {
  return ArrayRef<int64_t>(values.data(), n);
}
IntegerAttr attribute(OpBuilder &builder, const std::optional<int64_t> &value) {
  return value ? builder.getI64IntegerAttr(*value) : IntegerAttr();
}

} // namespace

#include "mpt/Dialect/Program/IR/CallOps.cpp.inc"

LibraryCallOpInterface createCall(OpBuilder &builder, Location loc,
                                  const rt::LibraryCall &call, ValueRange inputs,
                                  ValueRange outputs, Value workspace) {
  return std::visit(
      [&](const auto &one) {
        return build(builder, loc, one, Buffers(inputs), Buffers(outputs), workspace);
      },
      call);
}

} // namespace mpt::program
