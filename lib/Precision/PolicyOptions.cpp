//===- PolicyOptions.cpp - A policy from a pass's options -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpt/Precision/PolicyOptions.h"

#include "mpt/Dialect/MPT/Transforms/NothingToDo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpt;

/// The low-precision type called `name`, or null after an error.
/// What `wire` is for.
static constexpr StringRef addingCollectives[] = {"stablehlo.all_reduce",
                                                  "stablehlo.reduce_scatter",
                                                  "sdy.all_reduce", "sdy.reduce_scatter"};

static Type parseLowType(ModuleOp module, StringRef pass, StringRef name) {
  if (name == "f16")
    return Float16Type::get(module.getContext());
  if (name == "bf16")
    return BFloat16Type::get(module.getContext());
  mlir::emitError(module.getLoc())
      << pass << ": unknown type '" << name << "'; expected f16 or bf16";
  return {};
}

std::optional<PolicyAndSettings> mpt::makePolicy(ModuleOp module,
                                                 const PolicyOptions &options) {
  FailureOr<PolicySettings> settings = loadPolicy(module.getLoc(), options.policy);
  if (failed(settings))
    return std::nullopt;
  // What the policy's file says wrong is wrong there.
  const Location policyLoc =
      settings->file.empty()
          ? module.getLoc()
          : Location(FileLineColLoc::get(module.getContext(), settings->file, 1, 1));
  StringRef type =
      options.type.empty() ? StringRef(settings->types.front()) : options.type;
  Type low = parseLowType(module, options.pass, type);
  if (!low)
    return std::nullopt;
  if (!llvm::is_contained(settings->types, type)) {
    mlir::emitError(module.getLoc())
        << options.pass << ": the policy '" << settings->names.front() << "' is for "
        << llvm::join(settings->types, ", ") << ", not for " << type;
    return std::nullopt;
  }
  if (!options.attentionPV.empty() && options.attentionPV != "low" &&
      options.attentionPV != "f32") {
    mlir::emitError(module.getLoc()) << options.pass << ": unknown attention-pv '"
                                     << options.attentionPV << "'; expected low or f32";
    return std::nullopt;
  }
  if (!options.attentionPV.empty())
    settings->attentionPV = options.attentionPV;
  settings->keepFirstLast |= options.keepFirstLast;
  settings->costGate &= options.costGate;
  if (options.reductionLimit < -1) {
    mlir::emitError(module.getLoc())
        << options.pass << ": reduction-limit must be 0 (none) or more, got "
        << options.reductionLimit;
    return std::nullopt;
  }
  if (options.reductionLimit >= 0)
    settings->getReductionLimit(low.isF16()) = options.reductionLimit;
  const TargetDescription *target;
  if (!options.target.empty())
    settings->target = options.target;
  if (failed(findTarget(module, settings->target, target,
                        options.target.empty() ? policyLoc : module.getLoc())))
    return std::nullopt;
  if (target && !target->hasUnits(low))
    mlir::emitWarning(module.getLoc())
        << options.pass << ": " << target->name << " has no units for contractions of "
        << type << ", which run as in f32; low precision saves memory alone";
  PrecisionPolicy policy(low, settings->names);
  settings->types = {type.str()};
  const ClientProfile *client = nullptr;
  if (!options.client.empty() && !(client = findClient(options.client))) {
    mlir::emitError(module.getLoc())
        << options.pass << ": unknown client '" << options.client << "'; expected one of "
        << llvm::join(getClients(), ", ");
    return std::nullopt;
  }
  std::optional<MixedResults> mixed = symbolizeMixedResults(options.mixedResults);
  if (!mixed && !options.mixedResults.empty()) {
    mlir::emitError(module.getLoc())
        << options.pass << ": unknown mixed-results '" << options.mixedResults
        << "'; expected all, matmuls or none";
    return std::nullopt;
  }
  // An option goes before the client's profile; the policy may permit less.
  if (!mixed)
    mixed = client ? client->mixedResults : MixedResults::All;
  mixed = std::max(*mixed, *symbolizeMixedResults(settings->mixedResults));
  settings->mixedResults = stringifyMixedResults(*mixed);
  policy.setMixedResults(*mixed);
  for (const std::string &file : settings->rules)
    if (failed(policy.getRules().addFile(policyLoc, file)))
      return std::nullopt;
  for (const std::string &file : options.rules)
    if (failed(policy.getRules().addFile(module.getLoc(), file)))
      return std::nullopt;
  llvm::append_range(settings->rules, options.rules);
  const unsigned layer = settings->names.size();
  if (client && !client->deny.empty()) {
    PolicyMove move;
    move.precisionClass = PrecisionClass::Deny;
    move.ops.assign(client->deny.begin(), client->deny.end());
    move.origin = ("client " + client->name).str();
    move.layer = layer;
    settings->moves.push_back(std::move(move));
  }
  if (!options.wire.empty() && options.wire != "f32") {
    if (options.wire != type) {
      mlir::emitError(module.getLoc())
          << options.pass << ": expected wire=f32 or wire=" << type
          << ", the low type, found '" << options.wire << "'";
      return std::nullopt;
    }
    PolicyMove move;
    move.precisionClass = PrecisionClass::Allow;
    for (StringRef op : addingCollectives)
      move.ops.push_back(op.str());
    move.origin = "option wire";
    move.layer = layer;
    settings->moves.push_back(std::move(move));
  }
  auto add = [&](PrecisionClass precisionClass, ArrayRef<std::string> ops) {
    PolicyMove move;
    move.precisionClass = precisionClass;
    move.ops = ops;
    move.origin = precisionClass == PrecisionClass::Fixed
                      ? "option remove"
                      : ("option " + stringifyPrecisionClass(precisionClass)).str();
    move.layer = layer;
    settings->moves.push_back(std::move(move));
  };
  add(PrecisionClass::Allow, options.allow);
  add(PrecisionClass::Deny, options.deny);
  add(PrecisionClass::Infer, options.infer);
  add(PrecisionClass::Clear, options.clear);
  add(PrecisionClass::Stable, options.stable);
  add(PrecisionClass::Fixed, options.remove);
  for (const PolicyMove &move : settings->moves)
    if (failed(policy.add(move.place.getLoc(module.getLoc()), move)))
      return std::nullopt;
  for (const std::string &pattern : options.keep)
    settings->keep.push_back({pattern});
  if (failed(policy.keep(module.getLoc(), settings->keep)))
    return std::nullopt;
  const uint64_t reductionLimit = settings->getReductionLimit(low.isF16());
  return PolicyAndSettings{std::move(policy), std::move(*settings), target,
                           reductionLimit};
}

PrecisionExceptions PolicyAndSettings::findExceptions(const PrecisionGraph &graph) const {
  PrecisionExceptions exceptions;
  if (settings.keepFirstLast)
    keepFirstAndLastLayers(graph, exceptions);
  if (settings.attentionPV == "f32") {
    llvm::StringSet<> probabilities, attention;
    for (StringRef name : settings.probabilities)
      probabilities.insert(name);
    for (StringRef name : settings.attention)
      attention.insert(name);
    keepAttentionValues(graph, probabilities, attention, exceptions);
  }
  if (reductionLimit != 0)
    keepLongReductions(graph, reductionLimit, exceptions);
  return exceptions;
}

LogicalResult mpt::loadTables(ModuleOp module, ArrayRef<std::string> dialects,
                              RuleTable &table) {
  SmallVector<StringRef> known = RuleTable::getBuiltinDialects();
  for (const std::string &dialect : dialects) {
    if (!llvm::is_contained(known, dialect) &&
        !llvm::is_contained(module.getContext()->getAvailableDialects(), dialect))
      return mlir::emitError(module.getLoc())
             << "no built-in rule table of dialect '" << dialect
             << "', nor is it registered; there are tables of "
             << llvm::join(known, ", ");
    table.addBuiltin(dialect);
  }
  return success();
}

void mpt::warnOfUnknownOps(ModuleOp module, StringRef pass, PrecisionPolicy &policy) {
  mpt::detail::warnOfMisspelledAttributes(module);
  // Constants, loops and what ends their bodies only pass on what other ops compute.
  WalkResult known = module.walk([&](Operation *op) {
    if (isa_and_nonnull<BuiltinDialect, func::FuncDialect>(op->getDialect()) ||
        op->getNumOperands() == 0 || op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    OpRecord record = policy.lookup(op);
    return record.source == RuleSource::Unlisted ||
                   record.getRegionPolicy() == RegionPolicy::Carry ||
                   record.getRegionPolicy() == RegionPolicy::Branches
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  if (!known.wasInterrupted())
    mpt::detail::warnOfNothingToDo(
        module, pass, "no op that a rule table knows (option rules adds tables)");
}
