//===- HostTensor.cpp - A tensor in host memory -----------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Storage and element conversion. Half types go through LLVM's APFloat.
///
//===----------------------------------------------------------------------===//

#include "mpt/Host/HostTensor.h"
#include "mpt/ProgramABI/SystemMemory.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace mpt;

static constexpr size_t kAlignment = 64;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

llvm::StringRef mpt::stringifyElementType(ElementType type) {
  switch (type) {
  case ElementType::F64:
    return "f64";
  case ElementType::F32:
    return "f32";
  case ElementType::F16:
    return "f16";
  case ElementType::BF16:
    return "bf16";
  case ElementType::F8E4M3FN:
    return "f8e4m3fn";
  case ElementType::F8E5M2:
    return "f8e5m2";
  case ElementType::I64:
    return "i64";
  case ElementType::I32:
    return "i32";
  case ElementType::I16:
    return "i16";
  case ElementType::I8:
    return "i8";
  case ElementType::U8:
    return "u8";
  case ElementType::I1:
    return "i1";
  }
  return "invalid";
}

std::optional<ElementType> mpt::parseElementType(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<ElementType>>(name)
      .Case("f64", ElementType::F64)
      .Case("f32", ElementType::F32)
      .Case("f16", ElementType::F16)
      .Case("bf16", ElementType::BF16)
      .CaseLower("f8e4m3fn", ElementType::F8E4M3FN)
      .CaseLower("f8e5m2", ElementType::F8E5M2)
      .Case("i64", ElementType::I64)
      .Case("i32", ElementType::I32)
      .Case("i16", ElementType::I16)
      .Case("i8", ElementType::I8)
      .Case("u8", ElementType::U8)
      .Case("i1", ElementType::I1)
      .Default(std::nullopt);
}

size_t mpt::getElementSize(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::I16:
    return 2;
  case ElementType::F8E4M3FN:
  case ElementType::F8E5M2:
  case ElementType::I8:
  case ElementType::U8:
  case ElementType::I1:
    return 1;
  }
  return 1;
}

bool mpt::isFloatType(ElementType type) { return type <= ElementType::F8E5M2; }

static const llvm::fltSemantics &getSemantics(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return llvm::APFloat::IEEEsingle();
  case ElementType::F16:
    return llvm::APFloat::IEEEhalf();
  case ElementType::BF16:
    return llvm::APFloat::BFloat();
  case ElementType::F8E4M3FN:
    return llvm::APFloat::Float8E4M3FN();
  case ElementType::F8E5M2:
    return llvm::APFloat::Float8E5M2();
  default:
    return llvm::APFloat::IEEEdouble();
  }
}

template <typename T>
static T load(const void *element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

double mpt::decodeElement(ElementType type, const void *element) {
  switch (type) {
  case ElementType::F64:
    return load<double>(element);
  case ElementType::F32:
    return load<float>(element);
  case ElementType::I64:
    return static_cast<double>(load<int64_t>(element));
  case ElementType::I32:
    return load<int32_t>(element);
  case ElementType::I16:
    return load<int16_t>(element);
  case ElementType::I8:
    return load<int8_t>(element);
  case ElementType::U8:
    return load<uint8_t>(element);
  case ElementType::I1:
    return load<uint8_t>(element) != 0;
  default:
    break;
  }
  unsigned bits = getElementSize(type) * 8;
  uint64_t raw = bits == 8 ? load<uint8_t>(element) : load<uint16_t>(element);
  llvm::APFloat value(getSemantics(type), llvm::APInt(bits, raw));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

/// Rounds `value` to nearest even in T, saturating; 0 for NaN.
template <typename T>
static void storeInteger(double value, void *element) {
  T result = 0;
  double rounded = std::nearbyint(value);
  if (std::isnan(value))
    result = 0;
  else if (rounded <= static_cast<double>(std::numeric_limits<T>::min()))
    result = std::numeric_limits<T>::min();
  else if (rounded >= static_cast<double>(std::numeric_limits<T>::max()))
    result = std::numeric_limits<T>::max();
  else
    result = static_cast<T>(rounded);
  std::memcpy(element, &result, sizeof(T));
}

void mpt::encodeElement(ElementType type, double value, void *element) {
  switch (type) {
  case ElementType::F64:
    std::memcpy(element, &value, sizeof(value));
    return;
  case ElementType::F32: {
    float narrowed = static_cast<float>(value);
    std::memcpy(element, &narrowed, sizeof(narrowed));
    return;
  }
  case ElementType::I64:
    return storeInteger<int64_t>(value, element);
  case ElementType::I32:
    return storeInteger<int32_t>(value, element);
  case ElementType::I16:
    return storeInteger<int16_t>(value, element);
  case ElementType::I8:
    return storeInteger<int8_t>(value, element);
  case ElementType::U8:
    return storeInteger<uint8_t>(value, element);
  case ElementType::I1: {
    uint8_t bit = value != 0;
    std::memcpy(element, &bit, 1);
    return;
  }
  default:
    break;
  }
  llvm::APFloat narrowed(value);
  bool losesInfo;
  narrowed.convert(getSemantics(type), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  uint64_t raw = narrowed.bitcastToAPInt().getZExtValue();
  std::memcpy(element, &raw, getElementSize(type));
}

std::string mpt::describeTensorType(ElementType type, llvm::ArrayRef<int64_t> shape) {
  std::string text = stringifyElementType(type).str();
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return text;
}

//===----------------------------------------------------------------------===//
// HostTensor
//===----------------------------------------------------------------------===//

void HostTensor::Free::operator()(uint8_t *pointer) const { std::free(pointer); }

std::unique_ptr<uint8_t[], HostTensor::Free> HostTensor::allocate(size_t size) {
  // A large calloc gets untouched zero pages; aligned_alloc does not, so zero
  // by hand. At least one line, so that data is never null.
  size_t rounded = llvm::alignTo(std::max<size_t>(size, 1), kAlignment);
  auto *pointer = static_cast<uint8_t *>(std::aligned_alloc(kAlignment, rounded));
  if (pointer)
    std::memset(pointer, 0, rounded);
  return std::unique_ptr<uint8_t[], Free>(pointer);
}

HostTensor::HostTensor(const HostTensor &other)
    : type(other.type), shape(other.shape), numElements(other.numElements) {
  if (!other.bytes)
    return;
  bytes = allocate(other.getByteSize());
  if (!bytes)
    llvm::report_bad_alloc_error("out of memory while copying a tensor");
  std::memcpy(bytes.get(), other.bytes.get(), other.getByteSize());
}

HostTensor &HostTensor::operator=(const HostTensor &other) {
  if (this != &other)
    *this = HostTensor(other);
  return *this;
}

llvm::Expected<HostTensor> HostTensor::create(ElementType type,
                                              llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  bool overflow = false;
  for (int64_t size : shape) {
    if (size < 0)
      return llvm::createStringError("invalid shape " + describeTensorType(type, shape) +
                                     ": a size is negative");
    overflow |= llvm::MulOverflow(count, size, count) != 0;
  }
  int64_t byteSize = 0;
  overflow |=
      llvm::MulOverflow(count, static_cast<int64_t>(getElementSize(type)), byteSize) != 0;
  if (overflow)
    return llvm::createStringError("invalid shape " + describeTensorType(type, shape) +
                                   ": its size does not fit in 63 bits");
  // Memory is cleared here: more than there is would end the process. Where less than a
  // GiB is too much, the allocation fails.
  if (byteSize > int64_t(1) << 30)
    if (int64_t memory = rt::getSystemMemory(); byteSize > memory)
      return llvm::createStringError(
          "out of memory: " + describeTensorType(type, shape) + " needs " +
          llvm::Twine(byteSize) + " bytes, this process can have " + llvm::Twine(memory));
  HostTensor tensor;
  tensor.type = type;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.numElements = count;
  tensor.bytes = allocate(byteSize);
  if (!tensor.bytes)
    return llvm::createStringError("out of memory: " + describeTensorType(type, shape) +
                                   " needs " + llvm::Twine(byteSize) + " bytes");
  return tensor;
}

HostTensor HostTensor::scalar(ElementType type, double value) {
  HostTensor tensor = llvm::cantFail(create(type, {}));
  tensor.setElement(0, value);
  return tensor;
}

HostTensor HostTensor::scalarI64(int64_t value) {
  HostTensor tensor = llvm::cantFail(create(ElementType::I64, {}));
  std::memcpy(tensor.getData(), &value, sizeof(value));
  return tensor;
}

template <typename Int>
static std::optional<int64_t> findAllOnesExponent(const void *data, int64_t count,
                                                  Int mask) {
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  for (int64_t i = 0; i < count; ++i)
    if ((load<Int>(bytes + i * sizeof(Int)) & mask) == mask)
      return i;
  return std::nullopt;
}

std::optional<int64_t> HostTensor::findNonFinite() const {
  const void *data = bytes.get();
  switch (type) {
  case ElementType::F64:
    return findAllOnesExponent<uint64_t>(data, numElements, 0x7FF0000000000000ull);
  case ElementType::F32:
    return findAllOnesExponent<uint32_t>(data, numElements, 0x7F800000u);
  case ElementType::F16:
    return findAllOnesExponent<uint16_t>(data, numElements, 0x7C00);
  case ElementType::BF16:
    return findAllOnesExponent<uint16_t>(data, numElements, 0x7F80);
  case ElementType::F8E5M2:
    return findAllOnesExponent<uint8_t>(data, numElements, 0x7C);
  case ElementType::F8E4M3FN: // No infinity; NaN is all ones.
    return findAllOnesExponent<uint8_t>(data, numElements, 0x7F);
  default:
    return std::nullopt;
  }
}

std::string HostTensor::describeNonFinite() const {
  std::optional<int64_t> position = findNonFinite();
  if (!position)
    return "";
  std::string text = std::isnan(getElement(*position)) ? "NaN at [" : "infinity at [";
  // Row-major: what is left of the position is divided by the later sizes.
  int64_t rest = *position, stride = numElements;
  for (auto [dimension, size] : llvm::enumerate(shape)) {
    stride /= size;
    text += (dimension ? ", " : "") + std::to_string(rest / stride);
    rest %= stride;
  }
  return text + "]";
}

bool HostTensor::operator==(const HostTensor &other) const {
  return type == other.type && shape == other.shape && getBytes() == other.getBytes();
}
