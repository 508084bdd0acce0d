//===- Apex.cpp - The levels of NVIDIA Apex -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `mpt-apex`: the properties of apex/amp/frontend.py and what apex/amp/_initialize.py
/// makes of each, as passes.
///
//===----------------------------------------------------------------------===//

#include "mpt/Pipelines/Pipelines.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace mpt;

namespace {
/// The properties of `apex.amp.initialize`, as its table has them.
struct ApexProperties {
  /// f32, f16 or none.
  std::string castModelType;
  bool patchTorchFunctions;
  /// Nothing where Apex has None.
  std::optional<bool> keepBatchnormFp32, masterWeights;
  /// Nothing: dynamic.
  std::optional<double> lossScale;
};
} // namespace

/// "true", "false" or "none".
static FailureOr<std::optional<bool>> parseFlag(StringRef name, StringRef text,
                                                EmitError emitError) {
  if (text == "none")
    return std::optional<bool>();
  if (text == "true" || text == "false")
    return std::optional<bool>(text == "true");
  (void)emitError("mpt-apex: expected " + name + " to be true, false or none, found '" +
                  text + "'");
  return failure();
}

/// Where Apex refuses what the options put in place of a level's property.
static LogicalResult checkConflicts(const ApexOptions &options, bool hasOwnMasters,
                                    const ApexProperties &properties,
                                    EmitError emitError) {
  const bool isO1 = options.level == "O1";
  if (isO1 && properties.castModelType == "f16")
    return emitError("mpt-apex: level=O1 casts around functions, and the model's "
                     "parameters stay f32: cast-model-type=f16 needs level=O2 or O3");
  if (!isO1 && properties.patchTorchFunctions)
    return emitError("mpt-apex: patch-torch-functions=true is what level=O1 does; choose "
                     "that level, or leave the option out");
  if (isO1 && properties.keepBatchnormFp32)
    return emitError(
        "mpt-apex: at level=O1 batch norm's parameters and statistics are f32 "
        "in any case: leave keep-batchnorm-fp32 out, or choose level=O2 or O3");
  if (isO1 && properties.masterWeights)
    return emitError("mpt-apex: at level=O1 parameters are f32, their own masters: leave "
                     "master-weights out, or choose level=O2 or O3");
  if (hasOwnMasters && properties.castModelType == "f16" &&
      !properties.masterWeights.value_or(false))
    return emitError("mpt-apex: masters is for parameters that have masters, and those "
                     "of level=" +
                     options.level +
                     " have none: give master-weights=true, or choose "
                     "level=O1 or O2");
  return success();
}

/// The level's properties with what the options put in their place. Fails, after
/// `emitError` has said why, where Apex refuses a combination.
static FailureOr<ApexProperties>
getApexProperties(const ApexOptions &options, bool hasOwnMasters, EmitError emitError) {
  ApexProperties properties;
  // cast_model_type, patch_torch_functions, keep_batchnorm_fp32, master_weights,
  // loss_scale
  if (options.level == "O0")
    properties = {"f32", false, std::nullopt, false, 1.0};
  else if (options.level == "O1")
    properties = {"none", true, std::nullopt, std::nullopt, std::nullopt};
  else if (options.level == "O2")
    properties = {"f16", false, true, true, std::nullopt};
  else if (options.level == "O3")
    properties = {"f16", false, false, false, 1.0};
  else
    return emitError("mpt-apex: unknown level '" + options.level +
                     "'; expected O0, O1, O2 or O3");

  if (!options.castModelType.empty())
    properties.castModelType = options.castModelType;
  if (!llvm::is_contained({"f32", "f16", "none"}, StringRef(properties.castModelType)))
    return emitError(
        "mpt-apex: expected cast-model-type to be f32, f16 or none, found '" +
        properties.castModelType + "'");
  if (!options.patchTorchFunctions.empty()) {
    auto flag =
        parseFlag("patch-torch-functions", options.patchTorchFunctions, emitError);
    if (failed(flag))
      return failure();
    properties.patchTorchFunctions = flag->value_or(properties.patchTorchFunctions);
  }
  if (!options.keepBatchnormFp32.empty()) {
    auto flag = parseFlag("keep-batchnorm-fp32", options.keepBatchnormFp32, emitError);
    if (failed(flag))
      return failure();
    properties.keepBatchnormFp32 = *flag;
  }
  if (!options.masterWeights.empty()) {
    auto flag = parseFlag("master-weights", options.masterWeights, emitError);
    if (failed(flag))
      return failure();
    properties.masterWeights = *flag;
  }
  if (options.lossScale == "dynamic") {
    properties.lossScale = std::nullopt;
  } else if (!options.lossScale.empty()) {
    double scale;
    if (StringRef(options.lossScale).getAsDouble(scale) || !(scale > 0) ||
        !std::isfinite(scale))
      return emitError("mpt-apex: expected loss-scale to be dynamic or a finite number "
                       "above 0, found '" +
                       options.lossScale + "'");
    properties.lossScale = scale;
  }
  if (failed(checkConflicts(options, hasOwnMasters, properties, emitError)))
    return failure();
  return properties;
}

FailureOr<TrainingOptions> mpt::getTrainingOptions(const ApexOptions &options,
                                                   TrainingOptions training,
                                                   EmitError emitError) {
  FailureOr<ApexProperties> properties =
      getApexProperties(options, training.masterWeights.has_value(), emitError);
  if (failed(properties))
    return failure();
  const bool isHalf = properties->castModelType == "f16";
  if (isHalf)
    training.castParameters.emplace().keepBatchNorm =
        properties->keepBatchnormFp32.value_or(false);
  training.hasDefaultMasters = isHalf;
  if (isHalf && !properties->masterWeights.value_or(false))
    training.masterWeights.emplace().options.kind = "none";

  LossScalePassOptions &scale = training.lossScale.emplace().options;
  if (properties->lossScale) {
    scale.mode = "static";
    scale.initScale = *properties->lossScale;
  } else {
    scale.preset = "apex";
    scale.minScale = options.minLossScale;
    scale.maxScale = options.maxLossScale;
  }
  if (isHalf || properties->patchTorchFunctions) {
    AutocastPassOptions &autocast = training.autocast.emplace().options;
    autocast.type = "f16";
    // A model's results are cast to f32 at O3 too, so losses are f32.
    autocast.policy = isHalf ? "apex-O2" : "apex-O1";
  }
  return training;
}

FailureOr<TrainingOptions> mpt::getTrainingOptions(const ApexOptions &options,
                                                   EmitError emitError) {
  TrainingOptions training;
  training.function = options.function;
  if (!options.accumulate.empty())
    training.accumulate.emplace().text = options.accumulate;
  training.trainStep.text = options.trainStep;
  if (!options.masters.empty())
    training.masterWeights.emplace().text = options.masters;
  return getTrainingOptions(options, std::move(training), emitError);
}
