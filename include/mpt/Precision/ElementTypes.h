//===- ElementTypes.h - The float in a tensor type of any dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Autocast changes element types of builtin tensors and vectors, and of tensor
/// types that dialects spell themselves and this process does not know, such as
/// `!torch.vtensor<[2,3],f32>`. Tensors of handles to lists of tensors, such as
/// `tensor<!tf_type.variant<tensor<2x3xf32>>>`, count as tensors of what the list
/// holds, with no elements of their own: a cast can do nothing for them. So do lists
/// such as `!torch.list<vtensor<[2,3],f32>>`. Anything else (scalars, memrefs,
/// tuples, resources) keeps its type.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_ELEMENTTYPES_H
#define MPT_PRECISION_ELEMENTTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace mpt {

/// What there is to know of a type; remembered, since graphs repeat few types.
class ElementTypes {
  enum class List : uint8_t { None, Known, Untyped, Open };
  struct Info {
    mlir::FloatType element;
    uint64_t elements = 0;
    List list = List::None;
  };

public:
  /// The element type if `type` is a tensor of floats, else null.
  mlir::FloatType getFloat(mlir::Type type) { return lookup(type).element; }
  bool isF32(mlir::Type type) {
    mlir::FloatType element = lookup(type).element;
    return element && element.isF32();
  }
  /// The number of elements; a dynamic dimension counts as 1, and the product
  /// stops at 2^40.
  uint64_t getNumElements(mlir::Type type) { return lookup(type).elements; }

  /// The sizes of a ranked tensor of anything, a negative one for a dynamic
  /// dimension; nullopt for other types.
  static std::optional<llvm::SmallVector<int64_t>> getShape(mlir::Type type);

  /// True for a list, or a tensor of handles to lists, of what getFloat returns.
  bool isList(mlir::Type type) { return lookup(type).list == List::Known; }
  /// True for a list of tensors of whatever kind (`!torch.list<vtensor>`): who
  /// makes it knows.
  bool isUntypedList(mlir::Type type) { return lookup(type).list == List::Untyped; }
  /// True for a tensor of handles that do not say to what, and for what else holds
  /// tensors that cannot be named.
  bool isOpenList(mlir::Type type) { return lookup(type).list == List::Open; }
  /// True for a tensor of a dialect's own that does not say of what.
  static bool isUntypedTensor(mlir::Type type);

  /// `type` with elements of `element`, which an untyped list is already; null if
  /// it is not a tensor of floats.
  static mlir::Type clone(mlir::Type type, mlir::Type element);

private:
  Info lookup(mlir::Type type) {
    // Types are unique, and those of neighbours are the same few.
    Recent &slot = recent[(reinterpret_cast<uintptr_t>(type.getAsOpaquePointer()) >> 4) %
                          std::size(recent)];
    if (slot.type != type)
      slot = {type, find(type)};
    return slot.info;
  }
  Info find(mlir::Type type);

  struct Recent {
    mlir::Type type;
    Info info;
  };
  Recent recent[64];
  llvm::DenseMap<mlir::Type, Info> known;
};

} // namespace mpt

#endif // MPT_PRECISION_ELEMENTTYPES_H
