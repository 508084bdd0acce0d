//===- Cubin.cpp - Kernels in machine code of GPUs --------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A cubin is an ELF file. `.text.NAME` is a kernel's code, 16 bytes an instruction whose
/// first nine bits are its opcode; `.nv.shared.NAME` its shared memory; `.nv.info` a list
/// of attributes, of which two name a kernel's symbol and a number (cuobjdump -elf prints
/// all of this, and the numbers are those of CUDA's documentation of binary utilities).
///
//===----------------------------------------------------------------------===//

#include "mpt/Codegen/CUDA/DeviceTrace.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

using namespace mpt;
using llvm::StringRef;

namespace {
constexpr size_t kInstructionBytes = 16;
/// LDG, LDL and STL, in the lowest nine bits of an instruction of sm_70 and newer.
constexpr unsigned kOpcodeMask = 0x1ff, kLoadGlobal = 0x181, kLoadLocal = 0x183,
                   kStoreLocal = 0x187;
/// Attributes of .nv.info: bytes of a thread's stack frame, and its registers.
constexpr uint8_t kFrameSize = 0x11, kRegisterCount = 0x2f;
/// An attribute with a list of bytes, whose length is in its header.
constexpr uint8_t kSized = 4;
} // namespace

llvm::Expected<llvm::StringMap<CubinKernel>> mpt::readCubin(StringRef bytes) {
  using ELF = llvm::object::ELFFile<llvm::object::ELF64LE>;
  auto file = ELF::create(bytes);
  if (!file)
    return llvm::createStringError("the machine code is no ELF file: " +
                                   llvm::toString(file.takeError()));
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  llvm::StringMap<CubinKernel> kernels;
  StringRef attributes;
  std::vector<std::string> symbols;
  for (const auto &section : *sections) {
    auto name = file->getSectionName(section);
    if (!name)
      return name.takeError();
    StringRef rest = *name;
    if (rest.consume_front(".text.")) {
      auto code = file->getSectionContents(section);
      if (!code)
        return code.takeError();
      CubinKernel &kernel = kernels[rest];
      kernel.instructions = code->size() / kInstructionBytes;
      for (size_t at = 0; at + kInstructionBytes <= code->size();
           at += kInstructionBytes) {
        const unsigned opcode =
            llvm::support::endian::read16le(code->data() + at) & kOpcodeMask;
        kernel.globalLoads += opcode == kLoadGlobal;
        kernel.localAccesses += opcode == kLoadLocal || opcode == kStoreLocal;
      }
    } else if (rest.consume_front(".nv.shared.")) {
      kernels[rest].sharedBytes = section.sh_size;
    } else if (rest == ".nv.info") {
      auto content = file->getSectionContents(section);
      if (!content)
        return content.takeError();
      attributes = llvm::toStringRef(*content);
    } else if (section.sh_type == llvm::ELF::SHT_SYMTAB) {
      auto list = file->symbols(&section);
      auto strings = file->getStringTableForSymtab(section);
      if (!list || !strings)
        return llvm::joinErrors(list.takeError(), strings.takeError());
      for (const auto &symbol : *list) {
        auto text = symbol.getName(*strings);
        if (!text)
          return text.takeError();
        symbols.push_back(text->str());
      }
    }
  }
  while (attributes.size() >= 4) {
    uint8_t format = attributes[0], attribute = attributes[1];
    size_t size = llvm::support::endian::read16le(attributes.data() + 2);
    attributes = attributes.drop_front(4);
    if (format != kSized)
      continue;
    if (attribute == kFrameSize || attribute == kRegisterCount)
      if (size >= 8 && attributes.size() >= 8) {
        uint32_t symbol = llvm::support::endian::read32le(attributes.data());
        uint32_t value = llvm::support::endian::read32le(attributes.data() + 4);
        if (symbol < symbols.size())
          if (auto found = kernels.find(symbols[symbol]); found != kernels.end())
            (attribute == kFrameSize ? found->second.stackBytes
                                     : found->second.registers) = value;
      }
    attributes = attributes.drop_front(std::min(size, attributes.size()));
  }
  return kernels;
}
