//===- ProgramFile.h - Programs as shared libraries -------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What makes a shared library that holds a program safe to load. The loader maps
/// whatever it is given: a file that is cut short or damaged kills the process. So
/// mpt-compile puts a note into the library (ELF section `.note.mpt`, segment PT_NOTE)
/// that holds the file's size and a hash of its bytes, and the runtime compares both
/// before it calls the loader.
///
/// The note's name is "MPT", its type 1, and its descriptor is a ProgramNote. The hash
/// is XXH64 (seed 0) of the whole file with the note's `hash` taken as 0. Tools that
/// rewrite libraries (strip, patchelf, objcopy, signers) therefore make a file that is
/// refused. `readelf -n` shows the note.
///
/// The library may also export `mpt_program_metadata`, text that ends in a zero byte. The
/// runtime hands it on and does not read it. mpt-compile writes a JSON object there with
/// what a host needs to train and the program itself does not:
///   "step"     a digest of the step function, as checkpoints have it
///   "masters"  names of parameters that are stored in another form than the model's
///              (`mpt.master`)
///   "low_of"   an object: from the name of a tensor of lower halves to its parameter's
///              (`mpt.low_of`)
///
//===----------------------------------------------------------------------===//

#ifndef MPT_PROGRAMABI_PROGRAMFILE_H
#define MPT_PROGRAMABI_PROGRAMFILE_H

#include <cstdint>
#include <string>

namespace mpt::rt {

inline constexpr char kProgramNoteSection[] = ".note.mpt";
inline constexpr char kProgramMetadata[] = "mpt_program_metadata";

struct ProgramNote {
  uint64_t formatVersion;
  uint64_t fileSize;
  uint64_t hash;
};

/// The contents of the section, with a size and hash that are still to be set.
std::string makeProgramNote();

/// Sets size and hash in the note of `file`, a linked library. Fails if it has none.
bool sealProgramFile(std::string &file, std::string &error);

/// Checks the file at `path` and copies it to memory that only this process has.
/// Returns a descriptor of the copy, which the caller closes, or -1 with `error` set: a
/// line that begins with the path. Checked are the kind of file, the machine it is for,
/// the size, the hash and the version of the format. What is in the copy are the bytes
/// that were checked, whatever becomes of the file.
int openProgramFile(const std::string &path, std::string &error);

} // namespace mpt::rt

#endif // MPT_PROGRAMABI_PROGRAMFILE_H
