//===- MPTDialect.cpp - Registration of the mpt dialect -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"
#include "StrictModel.h"
#include "mpt/Dialect/MPT/IR/MPT.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpt;

#include "mpt/Dialect/MPT/IR/MPTDialect.cpp.inc"
#include "mpt/Dialect/MPT/IR/MPTEnums.cpp.inc"

// Roles and kinds of init are keywords.
namespace mpt {
static llvm::raw_ostream &operator<<(llvm::raw_ostream &os, Role role) {
  return os << stringifyRole(role);
}
static llvm::raw_ostream &operator<<(llvm::raw_ostream &os, InitKind kind) {
  return os << getNames(kind).name;
}
} // namespace mpt

static std::string_view getName(std::string_view name) { return name; }
static std::string_view getName(const InitKindNames &names) { return names.name; }

/// Parses a keyword that `parseName` knows; `names` are all that it knows.
template <typename Enum, typename Names>
static FailureOr<Enum> parseNamed(AsmParser &parser,
                                  std::optional<Enum> (*parseName)(std::string_view),
                                  const Names &names) {
  StringRef keyword;
  SMLoc at = parser.getCurrentLocation();
  if (failed(parser.parseKeyword(&keyword)))
    return failure();
  if (std::optional<Enum> value = parseName(keyword))
    return *value;
  InFlightDiagnostic error = parser.emitError(at, "expected one of ");
  llvm::interleaveComma(names, error,
                        [&](const auto &name) { error << StringRef(getName(name)); });
  return error << "; found " << keyword;
}

template <>
struct mlir::FieldParser<Role> {
  static FailureOr<Role> parse(AsmParser &parser) {
    return parseNamed<Role>(parser, parseRole, kRoleNames);
  }
};
template <>
struct mlir::FieldParser<InitKind> {
  static FailureOr<InitKind> parse(AsmParser &parser) {
    return parseNamed<InitKind>(parser, parseInitKind, kInitKindNames);
  }
};

/// The numbers of an init: a dictionary, or nothing.
static ParseResult parseInitNumbers(AsmParser &parser, DictionaryAttr &numbers) {
  NamedAttrList entries;
  if (failed(parser.parseOptionalAttrDict(entries)))
    return failure();
  if (!entries.empty())
    numbers = entries.getDictionary(parser.getContext());
  return success();
}
static void printInitNumbers(AsmPrinter &printer, DictionaryAttr numbers) {
  if (numbers)
    printer << ' ' << numbers;
}

#define GET_ATTRDEF_CLASSES
#include "mpt/Dialect/MPT/IR/MPTAttrs.cpp.inc"

void MPTDialect::initialize() {
  detail::addStrictOperations<
#define GET_OP_LIST
#include "mpt/Dialect/MPT/IR/MPTOps.cpp.inc"
      >(this);
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mpt/Dialect/MPT/IR/MPTAttrs.cpp.inc"
      >();
  addBytecodeInterface();
  detail::attachGradientRules(*getContext());
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static constexpr StringLiteral machines[] = {"cpu", "x86_64", "cuda"};

LogicalResult TargetAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 StringRef machine, ArrayRef<StringAttr> chips) {
  if (!llvm::is_contained(machines, machine))
    return emitError() << "expected the target cpu, x86_64 or cuda, found '" << machine
                       << "'";
  const bool isCuda = machine == "cuda";
  if (!isCuda && chips.size() > (machine == "cpu" ? 0 : 1))
    return emitError() << "expected "
                       << (machine == "cpu" ? "no chip" : "one chip at most")
                       << " for the target " << machine << ", found " << chips.size();
  for (StringAttr chip : chips)
    if (chip.getValue().empty() || (isCuda && !chip.getValue().starts_with("sm_")))
      return emitError() << "expected "
                         << (isCuda ? "chips such as sm_90" : "a chip's name")
                         << ", found " << chip;
  return success();
}

Attribute TargetAttr::parse(AsmParser &parser, Type) {
  std::string machine;
  SmallVector<StringAttr> chips;
  SMLoc loc = parser.getCurrentLocation();
  auto parseChip = [&]() -> ParseResult {
    std::string chip;
    if (failed(parser.parseKeywordOrString(&chip)))
      return failure();
    chips.push_back(StringAttr::get(parser.getContext(), chip));
    return success();
  };
  if (parser.parseLess() || parser.parseKeywordOrString(&machine))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      failed(parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseChip)))
    return {};
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), machine,
                    chips);
}

void TargetAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMachine();
  if (!getChips().empty()) {
    printer << ", [";
    llvm::interleaveComma(getChips(), printer, [&](StringAttr chip) {
      printer.printKeywordOrString(chip.getValue());
    });
    printer << "]";
  }
  printer << ">";
}

TargetAttr TargetAttr::fromText(StringRef text,
                                llvm::function_ref<InFlightDiagnostic()> emitError,
                                MLIRContext *context) {
  SmallVector<StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  StringRef machine = words.empty() ? StringRef("cpu") : words.front();
  SmallVector<StringAttr> chips;
  for (StringRef word : ArrayRef(words).drop_front(words.empty() ? 0 : 1))
    chips.push_back(StringAttr::get(context, word));
  return getChecked(emitError, context, machine, chips);
}

std::string TargetAttr::getText() const {
  std::string text = getMachine().str();
  for (StringAttr chip : getChips())
    text += (" " + chip.getValue()).str();
  return text;
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  constexpr int64_t mostRanks = int64_t(1) << 20;
  if (names.empty() || names.size() != sizes.size())
    return emitError() << "expected a mesh of one or more axes with a size each, found "
                       << names.size() << " axes and " << sizes.size() << " sizes";
  int64_t ranks = 1;
  for (auto [i, name, size] : llvm::enumerate(names, sizes)) {
    if (llvm::is_contained(names.take_front(i), name))
      return emitError() << "expected axes of different names, found " << name
                         << " twice";
    if (size < 1 || size > mostRanks || (ranks *= size) > mostRanks)
      return emitError() << "expected at least one rank along the axis " << name
                         << " and at most " << mostRanks << " in all, found " << size;
  }
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SMLoc loc = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (failed(
          parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseAxis)))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), names,
                    sizes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(llvm::zip_equal(getNames(), getSizes()), printer, [&](auto axis) {
    auto [name, size] = axis;
    printer.printKeywordOrString(name.getValue());
    printer << " = " << size;
  });
  printer << ">";
}

std::optional<int64_t> MeshAttr::getSize(StringRef axis) const {
  for (auto [name, size] : llvm::zip_equal(getNames(), getSizes()))
    if (name.getValue() == axis)
      return size;
  return std::nullopt;
}

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (int64_t size : getSizes())
    ranks *= size;
  return ranks;
}

Operation *MPTDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                           Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
