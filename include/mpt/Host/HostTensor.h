//===- HostTensor.h - A tensor in host memory -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one form in which tensors pass between files, initializers, the data
/// loader and the engines: an element type, a shape and packed row-major bytes
/// in the machine's (little-endian) byte order. Knows nothing of MLIR.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_HOST_HOSTTENSOR_H
#define MPT_HOST_HOSTTENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mpt {

/// How one element is stored. `I1` takes a byte that is 0 or 1. Integers but
/// `U8` are read as two's complement.
enum class ElementType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  F8E4M3FN,
  F8E5M2,
  I64,
  I32,
  I16,
  I8,
  U8,
  I1
};

/// MLIR's spelling of the type in lower case, with `u8` for `U8`.
llvm::StringRef stringifyElementType(ElementType type);
/// The inverse of `stringifyElementType`; also takes MLIR's `f8E4M3FN`.
std::optional<ElementType> parseElementType(llvm::StringRef name);
/// Bytes per element.
size_t getElementSize(ElementType type);
bool isFloatType(ElementType type);

/// The value of one stored element. Exact for every type but I64, which is
/// rounded to nearest.
double decodeElement(ElementType type, const void *element);
/// Stores `value`, rounded to nearest even: floats overflow to what their
/// format has for it (infinity, NaN for F8E4M3FN), integers saturate, NaN
/// becomes integer 0, `I1` is 1 iff `value` is not zero.
void encodeElement(ElementType type, double value, void *element);

/// "f32[64, 10]", for messages.
std::string describeTensorType(ElementType type, llvm::ArrayRef<int64_t> shape);

/// An owned tensor. Copying copies the bytes.
class HostTensor {
public:
  /// An empty f32 tensor of shape [0].
  HostTensor() = default;
  HostTensor(const HostTensor &other);
  HostTensor &operator=(const HostTensor &other);
  HostTensor(HostTensor &&other) = default;
  HostTensor &operator=(HostTensor &&other) = default;

  /// A tensor of zeros. Fails on a negative size, on a size that does not fit
  /// in 63 bits and when memory is short.
  static llvm::Expected<HostTensor> create(ElementType type,
                                           llvm::ArrayRef<int64_t> shape);
  /// A rank-0 tensor holding `value` as `encodeElement` stores it.
  static HostTensor scalar(ElementType type, double value);
  /// A rank-0 I64 tensor, exact for every value.
  static HostTensor scalarI64(int64_t value);

  ElementType getElementType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return static_cast<int64_t>(shape.size()); }
  int64_t getNumElements() const { return numElements; }
  size_t getByteSize() const {
    return static_cast<size_t>(numElements) * getElementSize(type);
  }

  /// 64-byte aligned.
  void *getData() { return bytes.get(); }
  const void *getData() const { return bytes.get(); }
  llvm::MutableArrayRef<uint8_t> getBytes() { return {bytes.get(), getByteSize()}; }
  llvm::ArrayRef<uint8_t> getBytes() const { return {bytes.get(), getByteSize()}; }

  /// The element at row-major position `index`, as `decodeElement` gives it.
  double getElement(int64_t index) const {
    return decodeElement(type, bytes.get() + index * getElementSize(type));
  }
  void setElement(int64_t index, double value) {
    encodeElement(type, value, bytes.get() + index * getElementSize(type));
  }

  /// "f32[64, 10]", for messages.
  std::string describe() const { return describeTensorType(type, shape); }

  /// Row-major position of the first infinity or NaN, if any.
  std::optional<int64_t> findNonFinite() const;
  /// "NaN at [3, 5]" for that element; empty if all are finite.
  std::string describeNonFinite() const;

  /// Same type, shape and bits.
  bool operator==(const HostTensor &other) const;
  bool operator!=(const HostTensor &other) const { return !(*this == other); }

private:
  struct Free {
    void operator()(uint8_t *pointer) const;
  };
  static std::unique_ptr<uint8_t[], Free> allocate(size_t size);

  ElementType type = ElementType::F32;
  llvm::SmallVector<int64_t, 4> shape = {0};
  int64_t numElements = 0;
  std::unique_ptr<uint8_t[], Free> bytes;
};

} // namespace mpt

#endif // MPT_HOST_HOSTTENSOR_H
