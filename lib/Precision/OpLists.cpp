//===- OpLists.cpp - Ops that a policy puts on lists -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/OpLists.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mpt;

std::string mpt::describePlace(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName() << ' ';
  op->getLoc()->walk([&](Location loc) {
    if (auto name = dyn_cast<NameLoc>(loc))
      os << name.getName().getValue() << ' ';
    else if (auto file = dyn_cast<FileLineColLoc>(loc))
      os << file.getFilename().getValue() << ':' << file.getLine() << ' ';
    return WalkResult::advance();
  });
  if (auto function = op->getParentOfType<FunctionOpInterface>())
    os << '@' << function.getName();
  return text;
}

/// The known name that `name` may be a slip of, or "".
static StringRef findNearest(StringRef name, MLIRContext *context,
                             const RuleTable &rules) {
  StringRef nearest;
  // Further away than a slip of the finger.
  unsigned best = std::min<size_t>(6, name.size() / 3 + 1);
  auto offer = [&](StringRef candidate) {
    // Of a name without its dialect, the first that would fit.
    if (best != 0 && candidate.split('.').second == name) {
      best = 0;
      nearest = candidate;
      return;
    }
    unsigned distance = name.edit_distance(candidate, true, best);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  };
  for (RegisteredOperationName candidate : context->getRegisteredOperations())
    offer(candidate.getStringRef());
  rules.forEachName(offer);
  return nearest;
}

void OpLists::put(Location loc, Entries &entries, OperationName name, Entry entry) {
  auto [found, isNew] = entries.try_emplace(name, entry);
  if (isNew)
    return;
  Entry &present = found->second;
  if (present.layer == entry.layer && present.byPattern == entry.byPattern &&
      present.precisionClass != entry.precisionClass)
    mlir::emitWarning(loc) << "'" << name.getStringRef() << "' is on the list '"
                           << stringifyPrecisionClass(present.precisionClass) << "' ("
                           << present.origin << ") and on '"
                           << stringifyPrecisionClass(entry.precisionClass) << "' ("
                           << entry.origin << "); the latter counts";
  if (entry.layer == present.layer && entry.byPattern && !present.byPattern)
    return;
  present = entry;
}

LogicalResult OpLists::add(Location loc, const PolicyMove &move, RuleTable &rules) {
  MLIRContext *context = loc.getContext();
  Entries *entries = &everywhere;
  if (!move.in.empty()) {
    auto place =
        llvm::find_if(places, [&](const Place &each) { return each.text == move.in; });
    if (place == places.end()) {
      llvm::Regex pattern(move.in);
      std::string error;
      if (!pattern.isValid(error))
        return mlir::emitError(loc) << move.origin << ": in: '" << move.in
                                    << "' is not a regular expression: " << error;
      places.push_back({move.in, std::move(pattern), {}, move.place});
      place = std::prev(places.end());
    }
    entries = &place->entries;
  }
  origins.push_back(move.origin);
  Entry entry{move.precisionClass, move.layer, false, origins.back()};
  // What is fixed was taken off all lists.
  StringRef list = move.precisionClass == PrecisionClass::Fixed
                       ? StringRef("remove")
                       : stringifyPrecisionClass(move.precisionClass);
  for (StringRef text : move.ops) {
    StringRef dialect = text.split('.').first;
    if (!dialect.contains('*')) {
      rules.addBuiltin(dialect);
      if (!context->getLoadedDialect(dialect) &&
          llvm::is_contained(context->getAvailableDialects(), dialect))
        continue;
    } else {
      for (StringRef each : RuleTable::getBuiltinDialects())
        rules.addBuiltin(each);
    }
    if (!text.contains('*')) {
      if (!RegisteredOperationName::lookup(text, context) && !rules.lookup(text)) {
        StringRef nearest = findNearest(text, context, rules);
        InFlightDiagnostic error = mlir::emitError(loc);
        error << "there is no op '" << text << "' to put on the list '" << list << "' ("
              << move.origin << ")";
        if (!nearest.empty())
          error << "; did you mean '" << nearest << "'?";
        else
          error << "; a row of a rule table (option rules) makes one known";
        return error;
      }
      auto registered = RegisteredOperationName::lookup(text, context);
      const OpRule *rule = rules.lookup(text);
      bool isTerminator = registered && registered->hasTrait<OpTrait::IsTerminator>();
      if ((isTerminator || (rule && !rule->movable)) &&
          move.precisionClass != PrecisionClass::Deny &&
          move.precisionClass != PrecisionClass::Fixed)
        return mlir::emitError(loc)
               << "'" << text << "' has no low form and cannot be on the list '" << list
               << "' (" << move.origin << "); take it off that";
      entry.byPattern = false;
      put(loc, *entries, OperationName(text, context), entry);
      continue;
    }
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(text);
    if (!pattern)
      return mlir::emitError(loc)
             << "the pattern '" << text << "' for the list '" << list << "' ("
             << move.origin << "): " << llvm::toString(pattern.takeError());
    entry.byPattern = true;
    bool any = false;
    auto offer = [&](StringRef name) {
      if (!pattern->match(name))
        return;
      any = true;
      put(loc, *entries, OperationName(name, context), entry);
    };
    for (RegisteredOperationName candidate : context->getRegisteredOperations())
      offer(candidate.getStringRef());
    rules.forEachName(offer);
    if (!any)
      return mlir::emitError(loc) << "no op matches '" << text << "' for the list '"
                                  << list << "' (" << move.origin << ")";
  }
  return success();
}

const OpLists::Entry *OpLists::lookup(Operation *op) const {
  if (places.empty() && everywhere.empty())
    return nullptr;
  const Entry *best = nullptr;
  std::string place;
  for (const Place &each : places) {
    auto found = each.entries.find(op->getName());
    if (found == each.entries.end() || (best && best->layer > found->second.layer))
      continue;
    if (place.empty())
      place = describePlace(op);
    if (each.pattern.match(place)) {
      each.matched = true;
      best = &found->second;
    }
  }
  if (best)
    return best;
  auto found = everywhere.find(op->getName());
  return found == everywhere.end() ? nullptr : &found->second;
}

void OpLists::forEachUnmatched(
    Operation *module,
    llvm::function_ref<void(StringRef in, const PolicyPlace &)> visit) const {
  auto isOpen = [](const Place &each) {
    return !each.matched && !each.place.file.empty() && !each.place.mayMiss;
  };
  // A place without one of the moved ops is a place all the same.
  if (llvm::any_of(places, isOpen))
    module->walk([&](Operation *op) {
      const std::string text = describePlace(op);
      for (const Place &each : places)
        if (isOpen(each) && each.pattern.match(text))
          each.matched = true;
    });
  for (const Place &each : places)
    if (isOpen(each))
      visit(each.text, each.place);
}

void OpLists::forEach(
    llvm::function_ref<void(StringRef in, const Entries &)> visit) const {
  visit("", everywhere);
  for (const Place &place : places)
    visit(place.text, place.entries);
}
