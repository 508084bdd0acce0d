//===- ModelExplorer.h - A plan on the picture of a graph -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Custom node data for Google's Model Explorer
/// (https://github.com/google-ai-edge/model-explorer, node_data_builder.py): notes
/// that it shows at the nodes of a graph that it has drawn from the same file.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PRECISION_MODELEXPLORER_H
#define MPT_PRECISION_MODELEXPLORER_H

#include "mpt/Precision/PrecisionPlan.h"

namespace mpt {

/// Writes JSON: for each function with a body, by its name, the results of its
/// ops by the numbers that Model Explorer's MLIR adapter gives them. `value` is
/// type and reason ("bf16 allowed"), `bgColor` goes with them; `class` and `bytes`
/// (of the op's results, in the types planned) are ours. Ops that the plan says
/// nothing of are left out. `root` is the module as it is before casts are put in.
void printNodeData(const PrecisionPlan &plan, mlir::Operation *root, mlir::Type low,
                   llvm::raw_ostream &os);

} // namespace mpt

#endif // MPT_PRECISION_MODELEXPLORER_H
