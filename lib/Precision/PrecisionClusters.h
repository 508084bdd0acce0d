//===- PrecisionClusters.h - Where no cast can stand -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_PRECISIONCLUSTERS_H
#define MPT_LIB_PRECISION_PRECISIONCLUSTERS_H

#include "mpt/Precision/PrecisionGraph.h"

namespace mpt {

/// The clusters of a graph that is complete but for them, in the order of their
/// first members.
std::vector<PrecisionGraph::Cluster> findClusters(const PrecisionGraph &graph);

} // namespace mpt

#endif // MPT_LIB_PRECISION_PRECISIONCLUSTERS_H
