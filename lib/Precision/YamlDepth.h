//===- YamlDepth.h - How deep a YAML text nests ---------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_LIB_PRECISION_YAMLDEPTH_H
#define MPT_LIB_PRECISION_YAMLDEPTH_H

#include "llvm/Support/Casting.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

namespace mpt {

/// How deep lists and mappings may nest in a file: LLVM's reader is recursive.
inline constexpr unsigned kMaxYamlDepth = 64;

/// Whether `node` and what is in it nest at most `levels` deep. LLVM parses a node when
/// it is asked for, and skips by recursion what was not asked for before it goes on; so
/// what is in a node is looked at before the next one, and nothing after a failure.
inline bool isShallow(llvm::yaml::Node *node, unsigned levels) {
  auto *list = llvm::dyn_cast_or_null<llvm::yaml::SequenceNode>(node);
  auto *mapping = llvm::dyn_cast_or_null<llvm::yaml::MappingNode>(node);
  if (!list && !mapping)
    return true;
  if (levels == 0)
    return false;
  if (list) {
    for (llvm::yaml::Node &each : *list)
      if (!isShallow(&each, levels - 1))
        return false;
    return true;
  }
  for (llvm::yaml::KeyValueNode &each : *mapping)
    if (!isShallow(each.getKey(), levels - 1) || !isShallow(each.getValue(), levels - 1))
      return false;
  return true;
}

/// Whether the lists and mappings of `yaml` nest at most kMaxYamlDepth deep up to its
/// first error, if it has one: it is for the reader to report.
inline bool isShallowYaml(llvm::StringRef yaml) {
  llvm::SourceMgr sources;
  sources.setDiagHandler([](const llvm::SMDiagnostic &, void *) {});
  llvm::yaml::Stream stream(yaml, sources, /*ShowColors=*/false);
  for (llvm::yaml::Document &document : stream)
    if (!isShallow(document.getRoot(), kMaxYamlDepth))
      return false;
  return true;
}

} // namespace mpt

#endif // MPT_LIB_PRECISION_YAMLDEPTH_H
