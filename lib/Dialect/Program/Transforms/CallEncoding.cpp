//===- CallEncoding.cpp - Library calls in the program format -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Dialect/Program/Transforms/CallEncoding.h"
#include "mpt/ProgramABI/CallPlan.h"
#include "mpt/ProgramABI/GemmPlan.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mpt;

std::optional<rt::DataType> mpt::encodeElementType(Type type) {
  if (type.isF64())
    return rt::DataType::F64;
  if (type.isF32())
    return rt::DataType::F32;
  if (type.isF16())
    return rt::DataType::F16;
  if (type.isBF16())
    return rt::DataType::BF16;
  if (isa<Float8E4M3FNType>(type))
    return rt::DataType::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return rt::DataType::F8E5M2;
  if (!type.isSignlessInteger())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return rt::DataType::I64;
  case 32:
    return rt::DataType::I32;
  case 16:
    return rt::DataType::I16;
  case 8:
    return rt::DataType::I8;
  case 1:
    return rt::DataType::I1;
  default:
    return std::nullopt;
  }
}

namespace {

/// Reads a config's entries with the defaults of the tensor ops.
class Config {
public:
  explicit Config(DictionaryAttr attributes) : attributes(attributes) {}

  bool has(StringRef name) const { return attributes && attributes.get(name); }
  int64_t number(StringRef name, int64_t otherwise) const {
    auto value = get<IntegerAttr>(name);
    return value ? value.getInt() : otherwise;
  }
  double real(StringRef name, double otherwise) const {
    auto value = get<FloatAttr>(name);
    return value ? value.getValueAsDouble() : otherwise;
  }
  SmallVector<int64_t> list(StringRef name, ArrayRef<int64_t> otherwise) const {
    auto value = get<DenseI64ArrayAttr>(name);
    return SmallVector<int64_t>(value ? value.asArrayRef() : otherwise);
  }
  int64_t epilogue() const {
    auto value = get<EpilogueAttr>("epilogue");
    return value ? static_cast<int64_t>(value.getValue()) : 0;
  }
  int64_t reduceKind() const {
    auto value = get<ReduceKindAttr>("kind");
    return value ? static_cast<int64_t>(value.getValue()) : 0;
  }

private:
  template <typename Attr>
  Attr get(StringRef name) const {
    return attributes ? dyn_cast_or_null<Attr>(attributes.get(name)) : Attr();
  }
  DictionaryAttr attributes;
};

} // namespace

/// Whether the third input of a product is what an activation saved.
static bool readsAux(int64_t gpuEpilogue) {
  auto epilogue = static_cast<rt::GemmEpilogue>(gpuEpilogue);
  return rt::usesAux(epilogue) && !rt::writesAux(epilogue);
}

static void encodeAttributes(Callee callee, Config config, rt::Instruction &call) {
  auto append = [&](ArrayRef<int64_t> values) {
    call.ints.insert(call.ints.end(), values.begin(), values.end());
  };
  switch (callee) {
  case Callee::Matmul:
    append({config.has("transpose_lhs"), config.has("transpose_rhs"),
            call.numInputs == 3 && !config.has("addend") &&
                !readsAux(config.number("gpu_epilogue", 0)),
            config.epilogue()});
    if (config.has("accumulate") || config.has("compute") || config.has("gpu_epilogue"))
      append({config.has("addend") ? 2 : config.has("accumulate"),
              config.number("compute", 0), config.number("gpu_epilogue", 0)});
    return;
  case Callee::Conv2D:
  case Callee::Conv2DInputGrad:
  case Callee::Conv2DFilterGrad:
    append(config.list("strides", {1, 1}));
    append(config.list("padding", {0, 0, 0, 0}));
    append(config.list("dilations", {1, 1}));
    append({config.number("groups", 1),
            callee == Callee::Conv2D && call.numInputs == 3, config.epilogue()});
    // How much goes with a call of cuDNN is known when all is in its place.
    if (config.has("cudnn"))
      append({0, 0, 0, config.has("tf32")});
    return;
  case Callee::MaxPool:
  case Callee::MaxPoolGrad:
  case Callee::AvgPool:
  case Callee::AvgPoolGrad:
    append(config.list("window", {1, 1}));
    append(config.list("strides", {1, 1}));
    append(config.list("padding", {0, 0, 0, 0}));
    append({config.has("count_include_pad")});
    return;
  case Callee::Copy: {
    SmallVector<int64_t> sizes = config.list("sizes", {});
    append({static_cast<int64_t>(sizes.size())});
    append(sizes);
    append({config.number("src_offset", 0)});
    append(config.list("src_strides", {}));
    append({config.number("dst_offset", 0)});
    append(config.list("dst_strides", {}));
    return;
  }
  case Callee::Fill:
    call.floats.push_back(config.real("value", 0.0));
    return;
  case Callee::Reduce:
    append({config.reduceKind()});
    append(config.list("axes", {}));
    return;
  case Callee::RandomMask:
    append({config.number("stream", 0)});
    call.floats.push_back(config.real("rate", 0.0));
    return;
  case Callee::RandomBits:
    append({config.number("stream", 0)});
    return;
  case Callee::CheckIndices:
    append({config.number("size", 0), config.has("ignore_index"),
            config.number("ignore_index", 0)});
    return;
  case Callee::Gather:
  case Callee::ScatterAdd:
  case Callee::Argmax:
    return;
  }
}

FailureOr<rt::Instruction> mpt::encodeCall(Location loc, Callee callee,
                                           DictionaryAttr config, TypeRange inputs,
                                           TypeRange outputs) {
  rt::Instruction call;
  call.isCall = true;
  // The enums list the calls in one order.
  call.target = static_cast<uint32_t>(callee);
  call.numInputs = inputs.size();
  call.numOutputs = outputs.size();
  for (TypeRange types : {inputs, outputs})
    for (Type type : types) {
      auto shaped = dyn_cast<ShapedType>(type);
      std::optional<rt::DataType> element =
          shaped ? encodeElementType(shaped.getElementType()) : std::nullopt;
      if (!element || !shaped.hasStaticShape()) {
        emitError(loc, "a library call cannot take a buffer of type ") << type;
        return failure();
      }
      rt::BufferRef ref;
      ref.type = *element;
      ref.dims.assign(shaped.getShape().begin(), shaped.getShape().end());
      call.refs.push_back(std::move(ref));
    }
  encodeAttributes(callee, Config(config), call);
  if (std::string why; !rt::checkCall(call, why)) {
    emitError(loc, "the library call cannot run: ") << why;
    return failure();
  }
  return call;
}
