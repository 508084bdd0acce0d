//===- PtxCode.cpp - PTX as data --------------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxCode.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"

#include <map>

using namespace mpt;
using namespace mpt::detail;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// A statement's text and the line that it begins on.
struct Statement {
  StringRef text;
  unsigned line;
};

/// The type in an opcode, as ".u32".
struct Type {
  uint8_t size = 4;
  bool isSigned = false, isFloat = false, isPredicate = false;
  /// Two of them in one register.
  bool isPair = false;
};

std::optional<Type> parseType(StringRef part) {
  if (part == "pred")
    return Type{1, false, false, true};
  if (part == "bf16" || part == "f16")
    return Type{2, false, true};
  if (part == "bf16x2" || part == "f16x2")
    return Type{4, false, true, false, true};
  if (part == "f32x2")
    return Type{8, false, true, false, true};
  if (part == "tf32")
    return Type{4, false, true};
  if (part.starts_with("e4m3") || part.starts_with("e5m2"))
    return Type{2, false, true};
  StringRef digits = part.drop_front();
  unsigned bits = 0;
  if (part.empty() || !llvm::is_contained(StringRef("busf"), part.front()) ||
      digits.getAsInteger(10, bits) ||
      (bits != 8 && bits != 16 && bits != 32 && bits != 64))
    return std::nullopt;
  return Type{uint8_t(bits / 8), part.front() == 's', part.front() == 'f'};
}

class Parser {
public:
  explicit Parser(StringRef text) : text(text) {}

  llvm::Expected<PtxModule> run() {
    while (!failed && skipSpace()) {
      StringRef head = text.substr(at);
      if (head.starts_with(".visible .entry") || head.starts_with(".entry") ||
          head.starts_with(".weak .entry"))
        parseKernel();
      else if (head.starts_with(".func") || head.starts_with(".visible .func"))
        skipFunction();
      else if (head.starts_with(".version") || head.starts_with(".target") ||
               head.starts_with(".address_size") || head.starts_with(".file"))
        skipLine();
      else
        parseVariable(nextStatement(), /*kernel=*/nullptr);
    }
    if (failed)
      return llvm::createStringError("PTX, line " + std::to_string(line) + ": " + why);
    for (const auto &opcode : unknown)
      module.unknown.push_back(opcode.getKey().str());
    llvm::sort(module.unknown);
    return std::move(module);
  }

private:
  void fail(const llvm::Twine &message) {
    if (!failed)
      why = message.str();
    failed = true;
  }

  /// Moves to the next token; false at the end.
  bool skipSpace() {
    while (at < text.size()) {
      if (text.substr(at).starts_with("//")) {
        skipLine();
        continue;
      }
      if (!llvm::isSpace(text[at]))
        return text[at] != '\0';
      line += text[at] == '\n';
      ++at;
    }
    return false;
  }
  void skipLine() {
    while (at < text.size() && text[at] != '\n')
      ++at;
  }
  /// What comes before the next semicolon.
  StringRef nextStatement() {
    size_t end = text.find(';', at);
    if (end == StringRef::npos) {
      fail("expected a semicolon, found the end");
      end = text.size();
    }
    StringRef statement = text.slice(at, end);
    line += statement.count('\n');
    at = std::min(end + 1, text.size());
    return statement.trim();
  }
  void skipFunction() {
    size_t brace = text.find('{', at), end = text.find(';', at);
    if (end < brace)
      return (void)nextStatement();
    int depth = 0;
    for (; at < text.size(); ++at) {
      line += text[at] == '\n';
      depth += text[at] == '{';
      if (text[at] == '}' && --depth == 0) {
        ++at;
        return;
      }
    }
    fail("expected the end of a function, found the end of the text");
  }

  //===------------------------------------------------------------------===//
  // Variables
  //===------------------------------------------------------------------===//

  /// ".const .align 16 .b8 name[4] = {1, 2, 3, 4}"
  void parseVariable(StringRef statement, PtxKernel *kernel) {
    auto [head, initializer] = statement.split('=');
    bool isShared = head.contains(".shared"), isLocal = head.contains(".local");
    if (head.contains(".extern") && !isShared)
      return;
    head = head.trim();
    uint64_t count = 1;
    StringRef name = head;
    if (head.consume_back("]")) {
      auto [before, number] = head.rsplit('[');
      name = before.trim();
      if (!number.empty() && number.getAsInteger(10, count))
        return fail("expected the length of a variable, found '" + number + "'");
    }
    auto [kind, last] = name.rsplit(' ');
    auto [before, typeText] = kind.trim().rsplit('.');
    std::optional<Type> type = parseType(typeText.trim());
    if (!type)
      return fail("expected the type of a variable, found '" + statement.take_front(60) +
                  "'");
    uint64_t align = type->size;
    if (size_t found = kind.find(".align "); found != StringRef::npos)
      kind.substr(found + 7).trim().consumeInteger(10, align);
    auto place = [&](uint64_t &used) {
      used = llvm::alignTo(used, std::max<uint64_t>(align, 1));
      uint64_t begin = used;
      used += count * type->size;
      return begin;
    };
    if (isShared) {
      symbols[last.trim()] = kSharedBase + place(kernel ? kernel->sharedBytes : shared);
      return;
    }
    if (isLocal) {
      uint64_t used = 0;
      symbols[last.trim()] = kLocalBase + place(used);
      return;
    }
    uint64_t used = module.constants.size();
    uint64_t begin = place(used);
    module.constants.resize(used, '\0');
    symbols[last.trim()] = kConstantBase + begin;
    StringRef values = initializer.trim();
    if (!values.consume_front("{"))
      return;
    values.consume_back("}");
    for (uint64_t i = begin; !values.empty() && i < used; i += type->size) {
      StringRef value;
      std::tie(value, values) = values.split(',');
      uint64_t number = 0;
      int64_t negative = 0;
      value = value.trim();
      if (value.getAsInteger(0, number) && !value.getAsInteger(0, negative))
        number = negative;
      for (unsigned byte = 0; byte < type->size; ++byte)
        module.constants[i + byte] = char(number >> (8 * byte));
    }
  }

  //===------------------------------------------------------------------===//
  // Kernels
  //===------------------------------------------------------------------===//

  void parseKernel() {
    size_t open = text.find('(', at), brace = text.find('{', at);
    if (open == StringRef::npos || brace == StringRef::npos || brace < open)
      return fail("expected a kernel with parameters and a body");
    StringRef name = text.slice(at, open).rsplit(' ').second.trim();
    StringRef head = text.slice(open, brace);
    kernel = PtxKernel();
    kernel.name = name.str();
    // Those of the module come first: any kernel may use them.
    kernel.sharedBytes = 0;
    registers.clear();
    constantRegisters.clear();
    parameters.clear();
    labels.clear();
    branches.clear();
    branchTables.clear();
    auto outer = symbols;
    while (!head.empty()) {
      StringRef one;
      std::tie(one, head) = head.split(',');
      if (!one.contains(".param"))
        continue;
      StringRef parameter = one.rsplit(' ').second.trim().split('[').first;
      parameters.try_emplace(parameter.rtrim(") \n\t"), parameters.size());
      if (one.contains(')'))
        break;
    }
    line += text.slice(at, brace).count('\n');
    at = brace + 1;
    int depth = 1;
    while (!failed && skipSpace()) {
      if (text[at] == '{') {
        ++depth;
        ++at;
        continue;
      }
      if (text[at] == '}') {
        ++at;
        if (--depth == 0)
          break;
        continue;
      }
      if (text.substr(at).starts_with(".loc") || text.substr(at).starts_with(".pragma")) {
        skipLine();
        continue;
      }
      // A label.
      size_t end = at;
      while (end < text.size() &&
             (llvm::isAlnum(text[end]) || text[end] == '$' || text[end] == '_'))
        ++end;
      if (end > at && end < text.size() && text[end] == ':') {
        lastLabel = text.slice(at, end);
        labels[lastLabel] = kernel.instructions.size();
        at = end + 1;
        continue;
      }
      StringRef statement = nextStatement();
      if (statement.consume_front(".reg")) {
        // ".b32 name", besides ranges as "%r<4>".
        StringRef name = statement.substr(statement.find_last_of(" \t") + 1);
        if (!name.contains('<'))
          getRegister(name);
        continue;
      }
      if (statement.consume_front(".branchtargets")) {
        statement.split(branchTables[lastLabel], ',');
        continue;
      }
      if (statement.starts_with(".param"))
        continue;
      if (statement.starts_with("."))
        parseVariable(statement, &kernel);
      else if (!statement.empty())
        parseInstruction(statement);
    }
    if (failed)
      return;
    if (depth != 0)
      return fail("expected the end of kernel " + name);
    for (auto [instruction, label] : branches) {
      auto found = labels.find(label);
      if (found == labels.end())
        return fail("expected a label, found '" + label + "'");
      kernel.instructions[instruction].target = found->second;
    }
    kernel.instructions.emplace_back().op = PtxOp::Return;
    kernel.instructions.back().issue = 0;
    // What is written to `_` goes to a register that nothing reads.
    const int sink = getRegister("_");
    for (PtxInstruction &instruction : kernel.instructions)
      for (int &result : instruction.results)
        if (result < 0)
          result = sink;
    kernel.numRegisters = registers.size() + constantRegisters.size();
    // Constants are numbered after the registers.
    for (PtxInstruction &instruction : kernel.instructions)
      for (int &source : instruction.sources)
        if (source < 0)
          source = registers.size() + (-2 - source);
    for (auto &[value, number] : constantRegisters)
      kernel.constants.push_back({int(registers.size()) + number, value});
    for (const auto &entry : registers)
      if (entry.getKey().contains('.'))
        kernel.specials.push_back({entry.getValue(), entry.getKey().str()});
      else if (entry.getKey() == "%laneid")
        kernel.specials.push_back({entry.getValue(), "%laneid"});
    llvm::sort(kernel.specials);
    dropUnreadHalves();
    mergeLogicalPairs();
    findBlocks();
    symbols = std::move(outer);
    module.kernels[kernel.name] = std::move(kernel);
  }

  int getRegister(StringRef name) {
    return registers.try_emplace(name, registers.size()).first->second;
  }
  /// Constants are -2, -3, ... until all registers are known.
  int getConstant(uint64_t value) {
    int number = constantRegisters.size();
    return -2 - constantRegisters.try_emplace(value, number).first->second;
  }

  /// The register, or the register of the number, that `text` names.
  int parseOperand(StringRef operand) {
    operand = operand.trim();
    if (operand == "_" || operand.empty())
      return getConstant(0);
    if (operand.front() == '%' || registers.contains(operand))
      return getRegister(operand);
    if (operand.starts_with("0f") || operand.starts_with("0d")) {
      uint64_t bits = 0;
      if (operand.drop_front(2).getAsInteger(16, bits))
        fail("expected a number, found '" + operand + "'");
      return getConstant(bits);
    }
    if (llvm::isDigit(operand.front()) || operand.front() == '-') {
      int64_t number = 0;
      uint64_t large = 0;
      operand.consume_back("U");
      if (!operand.getAsInteger(0, number))
        return getConstant(number);
      if (!operand.getAsInteger(0, large))
        return getConstant(large);
      fail("expected a number, found '" + operand + "'");
      return getConstant(0);
    }
    if (auto found = symbols.find(operand); found != symbols.end())
      return getConstant(found->second);
    // The address of a parameter: of a tensor map.
    if (parameters.contains(operand))
      return getConstant(0);
    fail("expected an operand, found '" + operand + "'");
    return getConstant(0);
  }
  void parseList(StringRef operand, SmallVector<int, 4> &list) {
    operand = operand.trim();
    if (!operand.consume_front("{")) {
      list.push_back(parseOperand(operand));
      return;
    }
    operand.consume_back("}");
    SmallVector<StringRef> parts;
    operand.split(parts, ',');
    for (StringRef part : parts)
      list.push_back(parseOperand(part));
  }
  /// "[%rd1+16]": appends the register.
  void parseAddress(StringRef operand, PtxInstruction &made) {
    operand = operand.trim();
    operand.consume_front("[");
    operand.consume_back("]");
    auto [base, more] = operand.split('+');
    if (!more.empty() && more.trim().getAsInteger(10, made.offset))
      fail("expected an offset, found '" + more + "'");
    made.sources.push_back(parseOperand(base));
  }

  static SmallVector<StringRef> splitOperands(StringRef operands) {
    SmallVector<StringRef> parts;
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      char c = operands[i];
      depth += c == '{' || c == '[' || c == '(';
      depth -= c == '}' || c == ']' || c == ')';
      if (c == ',' && depth == 0) {
        parts.push_back(operands.slice(begin, i).trim());
        begin = i + 1;
      }
    }
    if (StringRef last = operands.substr(begin).trim(); !last.empty())
      parts.push_back(last);
    return parts;
  }

  void parseInstruction(StringRef statement);
  void parseBranchByIndex(llvm::ArrayRef<StringRef> operands);
  void findBlocks();
  void dropUnreadHalves();
  void mergeLogicalPairs();

  StringRef text;
  size_t at = 0;
  unsigned line = 1;
  bool failed = false;
  std::string why;
  PtxModule module;
  llvm::StringMap<uint64_t> symbols;
  uint64_t shared = 0;
  llvm::StringSet<> unknown;

  PtxKernel kernel;
  llvm::StringMap<int> registers;
  std::map<uint64_t, int> constantRegisters;
  llvm::StringMap<int> parameters;
  llvm::StringMap<unsigned> labels;
  SmallVector<std::pair<unsigned, StringRef>> branches;
  StringRef lastLabel;
  /// By the label of a .branchtargets: the labels it lists.
  llvm::StringMap<SmallVector<StringRef>> branchTables;
};

/// What ptxas makes of one instruction of floats: machine instructions, those on the
/// special unit, and flops. Seen in the machine code of sm_90 (ptxas 13.0); branches to
/// slow paths are not taken.
struct FloatCost {
  double issue = 1, special = 0, flops = 1;
};

/// FLOPs of a matmul of "m16n8k16".
double countProducts(llvm::ArrayRef<StringRef> parts) {
  for (StringRef part : parts) {
    unsigned m = 0, n = 0, k = 0;
    if (part.consume_front("m") && !part.empty() && llvm::isDigit(part.front()) &&
        !part.consumeInteger(10, m) && part.consume_front("n") &&
        !part.consumeInteger(10, n) && part.consume_front("k") &&
        !part.consumeInteger(10, k))
      return 2.0 * m * n * k;
  }
  return 0;
}

FloatCost getFloatCost(StringRef root, llvm::ArrayRef<StringRef> parts) {
  bool isApproximate = llvm::is_contained(parts, "approx"),
       flushes = llvm::is_contained(parts, "ftz");
  if (root == "fma" || root == "mad")
    return {1, 0, 2};
  if (root == "neg" || root == "abs" || root == "mov")
    return {0, 0, 0};
  if (root == "min" || root == "max")
    return {1, 0, 0};
  if (root == "div")
    return isApproximate ? FloatCost{2, 1, 1} : FloatCost{10, 1, 1};
  if (root == "rcp" || root == "sqrt" || root == "rsqrt")
    return isApproximate ? FloatCost{1, 1, 1} : FloatCost{8, 1, 1};
  // Scaled before and after unless subnormals are flushed.
  if (root == "ex2" || root == "lg2" || root == "sin" || root == "cos" || root == "tanh")
    return flushes ? FloatCost{1, 1, 1} : FloatCost{4, 1, 1};
  return {};
}

} // namespace

/// "brx.idx %r1, table;": as many branches as the table has labels, at the price of one.
void Parser::parseBranchByIndex(llvm::ArrayRef<StringRef> operands) {
  auto table =
      operands.size() > 1 ? branchTables.find(operands[1].trim()) : branchTables.end();
  if (table == branchTables.end())
    return fail("expected an index and the label of a .branchtargets");
  const int index = parseOperand(operands.front());
  for (auto [number, label] : llvm::enumerate(table->second)) {
    PtxInstruction compare;
    compare.op = PtxOp::Compare;
    compare.sources = {index, getConstant(number)};
    compare.results = {getRegister("%brx" + std::to_string(number))};
    compare.issue = compare.onUnit = 0;
    PtxInstruction branch;
    branch.op = PtxOp::Branch;
    branch.unit = LaunchTrace::Control;
    branch.predicate = compare.results.front();
    branch.issue = branch.onUnit = number == 0 ? 1 : 0;
    // Nothing else is left.
    if (number + 1 == table->second.size())
      branch.predicate = -1;
    else
      kernel.instructions.push_back(std::move(compare));
    branches.push_back({unsigned(kernel.instructions.size()), label.trim()});
    kernel.instructions.push_back(std::move(branch));
  }
}

void Parser::parseInstruction(StringRef statement) {
  PtxInstruction made;
  if (statement.consume_front("@")) {
    made.isNegated = statement.consume_front("!");
    auto [predicate, rest] = statement.split(' ');
    if (size_t tab = predicate.find('\t'); tab != StringRef::npos) {
      rest = statement.substr(tab + 1);
      predicate = predicate.take_front(tab);
    }
    made.predicate = getRegister(predicate.trim());
    statement = rest.trim();
  }
  size_t end = statement.find_first_of(" \t\n");
  StringRef opcode = statement.take_front(end);
  SmallVector<StringRef> operands =
      splitOperands(end == StringRef::npos ? StringRef() : statement.substr(end));
  SmallVector<StringRef> parts;
  opcode.split(parts, '.');
  StringRef root = parts.front();
  SmallVector<Type, 3> types;
  bool isWide = false;
  for (StringRef part : llvm::drop_begin(parts)) {
    isWide |= part == "wide";
    if (std::optional<Type> type = parseType(part))
      types.push_back(*type);
    if (part == "global")
      made.space = PtxSpace::Global;
    else if (part.starts_with("shared"))
      made.space = PtxSpace::Shared;
    else if (part == "const")
      made.space = PtxSpace::Constant;
    else if (part == "local")
      made.space = PtxSpace::Local;
  }
  Type type = types.empty() ? Type() : types.back();
  made.size = type.size;
  made.isSigned = type.isSigned;
  bool isMemory =
      llvm::is_contained({"ld", "ldu", "st", "atom", "red", "ldmatrix", "mma", "shfl",
                          "vote", "bar", "barrier", "membar", "fence", "cp"},
                         root);
  bool isFloat = type.isFloat || (!types.empty() && types.front().isFloat);
  auto addResults = [&] {
    if (!operands.empty())
      parseList(operands.front(), made.results);
  };
  auto addSources = [&](size_t from) {
    for (StringRef operand : llvm::drop_begin(operands, std::min(from, operands.size())))
      parseList(operand, made.sources);
  };
  const bool isParameter = llvm::is_contained(parts, "param");
  if (root == "ld" || root == "ldu") {
    addResults();
    made.unit = LaunchTrace::Memory;
    if (isParameter) {
      made.op = PtxOp::LoadParameter;
      made.issue = made.onUnit = 0;
      StringRef name = operands.size() > 1 ? operands[1].trim("[] ") : StringRef();
      auto found = parameters.find(name);
      // What a call of a function has returned is no parameter of the kernel.
      if (found == parameters.end())
        made.op = PtxOp::Float;
      else
        made.offset = found->second;
    } else if (operands.size() > 1) {
      made.op = PtxOp::Load;
      parseAddress(operands[1], made);
    } else {
      return fail("expected more operands of '" + opcode + "'");
    }
  } else if (root == "st") {
    made.unit = LaunchTrace::Memory;
    if (isParameter) {
      made.op = PtxOp::Nothing;
      made.issue = made.onUnit = 0;
    } else if (operands.size() > 1) {
      made.op = PtxOp::Store;
      parseAddress(operands[0], made);
      addSources(1);
    } else {
      return fail("expected more operands of '" + opcode + "'");
    }
  } else if (root == "cp" && llvm::is_contained(parts, "tensor")) {
    made.op = PtxOp::TileCopy;
    made.unit = LaunchTrace::Memory;
  } else if (root == "wgmma" || root == "mbarrier" || root == "setmaxnreg" ||
             root == "fence" || root == "prefetch") {
    made.unit = LaunchTrace::Control;
    made.op = PtxOp::Nothing;
    if (llvm::is_contained(parts, "mma_async")) {
      made.op = PtxOp::Multiply;
      made.unit = LaunchTrace::Tensor;
      made.isWarpgroup = true;
      kernel.hasRoles = true;
      addResults();
      made.flops = countProducts(parts) / 4;
    } else if (llvm::is_contained(parts, "try_wait")) {
      // What it waits for is there.
      addResults();
      made.op = PtxOp::Compare;
      made.sources = {getConstant(0), getConstant(0)};
      made.size = 4;
    }
  } else if (root == "cp") {
    // cp.async is one instruction that reads and writes. Ends of groups and waits for
    // them are instructions, too.
    made.unit = LaunchTrace::Control;
    made.op = PtxOp::Nothing;
    if (operands.size() > 2) {
      made.unit = LaunchTrace::Memory;
      made.op = PtxOp::Copy;
      made.space = PtxSpace::Shared;
      parseAddress(operands[0], made);
      PtxInstruction read = made;
      read.sources.clear();
      read.offset = 0;
      read.space = PtxSpace::Global;
      parseAddress(operands[1], read);
      made.issue = made.onUnit = 0;
      ++kernel.loads;
      kernel.instructions.push_back(std::move(read));
    }
  } else if (root == "prefetch") {
    // What is read later anyway.
    made.op = PtxOp::Nothing;
    made.unit = LaunchTrace::Memory;
  } else if (root == "atom" || root == "red") {
    made.op = PtxOp::Atomic;
    made.unit = LaunchTrace::Memory;
    if (root == "atom")
      addResults();
    if (operands.size() > unsigned(root == "atom"))
      parseAddress(operands[root == "atom"], made);
  } else if (root == "ldmatrix") {
    made.op = PtxOp::Matrices;
    made.unit = LaunchTrace::Memory;
    addResults();
    if (operands.size() > 1)
      parseAddress(operands[1], made);
  } else if (root == "mma") {
    made.op = PtxOp::Multiply;
    made.unit = LaunchTrace::Tensor;
    addResults();
    made.flops = countProducts(parts);
    addSources(1);
  } else if (root == "shfl") {
    made.op = PtxOp::Shuffle;
    made.unit = LaunchTrace::Memory;
    addResults();
    addSources(1);
  } else if (root == "vote") {
    made.op = PtxOp::Ballot;
    kernel.hasBallot = true;
    addResults();
    addSources(1);
  } else if (root == "bar" || root == "barrier") {
    // bar.warp.sync is nothing that a warp waits for here.
    made.op = llvm::is_contained(parts, "warp") ? PtxOp::Nothing : PtxOp::Barrier;
    made.unit = LaunchTrace::Control;
  } else if (root == "bra") {
    made.op = PtxOp::Branch;
    made.unit = LaunchTrace::Control;
    if (operands.empty())
      return fail("expected a label, found '" + statement + "'");
    branches.push_back({unsigned(kernel.instructions.size()), operands.front()});
  } else if (root == "brx") {
    return parseBranchByIndex(operands);
  } else if (root == "ret" || root == "exit") {
    made.op = PtxOp::Return;
    made.unit = LaunchTrace::Control;
  } else if (root == "call") {
    // Functions of libdevice in f64.
    made.op = PtxOp::Nothing;
    made.unit = LaunchTrace::Double;
    made.issue = made.onUnit = 100;
  } else if (root == "setp") {
    // LLVM does not write "%p1|%p2".
    addResults();
    addSources(1);
    made.op = isFloat ? PtxOp::Float : PtxOp::Compare;
    made.comparison = llvm::StringSwitch<uint8_t>(parts.size() > 1 ? parts[1] : "")
                          .Case("eq", 0)
                          .Case("ne", 1)
                          .Cases({"lt", "lo"}, 2)
                          .Cases({"le", "ls"}, 3)
                          .Cases({"gt", "hi"}, 4)
                          .Default(5);
    made.unit = isFloat ? (type.size == 8 ? LaunchTrace::Double : LaunchTrace::Float)
                        : LaunchTrace::Integer;
    if (!isFloat && type.size == 8)
      made.issue = made.onUnit = 2;
  } else if (root == "selp") {
    addResults();
    addSources(1);
    made.op = PtxOp::Select;
    made.issue = made.onUnit = type.size == 8 ? 2 : 1;
  } else if (root == "mov" || root == "cvta") {
    bool packs = operands.size() > 1 && operands[1].starts_with("{");
    bool unpacks = !operands.empty() && operands[0].starts_with("{");
    addResults();
    addSources(1);
    made.op = packs ? PtxOp::Pack : unpacks ? PtxOp::Unpack : PtxOp::Move;
    if (packs || unpacks)
      made.from = type.size /
                  std::max<size_t>(1, packs ? made.sources.size() : made.results.size());
    // Coalesced or in the instructions that read them.
    made.issue = made.onUnit = 0;
  } else if (root == "cvt") {
    addResults();
    addSources(1);
    Type to = types.empty() ? Type() : types.front();
    made.size = to.size;
    made.isSigned = to.isSigned;
    made.from = type.size;
    made.fromSigned = type.isSigned;
    made.op = isFloat ? PtxOp::Float : PtxOp::Convert;
    if (!isFloat) {
      made.issue = made.onUnit = to.size == 8 || type.size == 8 ? 0 : 1;
    } else if (to.isFloat && type.isFloat && (to.size <= 4 && type.size <= 4) &&
               to.size != type.size) {
      made.unit = LaunchTrace::Float;
    } else if (made.results.size() == 1 && made.sources.size() == 2) {
      made.unit = LaunchTrace::Float;
    } else {
      made.unit = LaunchTrace::Special;
    }
  } else if (isFloat) {
    addResults();
    addSources(1);
    made.op = PtxOp::Float;
    FloatCost cost = getFloatCost(root, parts);
    made.issue = cost.issue;
    made.flops = cost.flops * (type.isPair ? 2 : 1);
    made.unit = cost.special > 0                 ? LaunchTrace::Special
                : type.size == 8 && !type.isPair ? LaunchTrace::Double
                                                 : LaunchTrace::Float;
    made.onUnit = cost.special > 0 ? cost.special : cost.issue;
  } else {
    addResults();
    addSources(1);
    made.op = llvm::StringSwitch<PtxOp>(root)
                  .Case("add", PtxOp::Add)
                  .Case("sub", PtxOp::Sub)
                  .Case("mul", PtxOp::Mul)
                  .Case("mad", PtxOp::Mad)
                  .Case("div", PtxOp::Div)
                  .Case("rem", PtxOp::Rem)
                  .Case("min", PtxOp::Min)
                  .Case("max", PtxOp::Max)
                  .Case("neg", PtxOp::Neg)
                  .Case("abs", PtxOp::Abs)
                  .Case("and", PtxOp::And)
                  .Case("or", PtxOp::Or)
                  .Case("xor", PtxOp::Xor)
                  .Case("not", PtxOp::Not)
                  .Case("shl", PtxOp::ShiftLeft)
                  .Case("shr", PtxOp::ShiftRight)
                  .Case("bfe", PtxOp::Extract)
                  .Case("popc", PtxOp::CountBits)
                  .Case("clz", PtxOp::LeadingZeros)
                  .Cases({"membar", "fence", "nanosleep"}, PtxOp::Nothing)
                  .Default(PtxOp::Float);
    if (made.op == PtxOp::Float && !isMemory)
      unknown.insert(opcode);
    bool isHigh = llvm::is_contained(parts, "hi");
    if (made.op == PtxOp::Mul && isHigh)
      made.op = PtxOp::MulHigh;
    made.from = made.size;
    made.fromSigned = made.isSigned;
    if (isWide)
      made.size *= 2;
    if (type.isPredicate)
      made.size = 1;
    double words = type.size == 8 ? 2 : 1;
    if (root == "div" || root == "rem")
      words *= 20;
    else if (root == "mul" && type.size == 8)
      words = 4;
    // A warp's addresses are often one 32-bit instruction with a 64-bit result.
    made.issue = made.onUnit = words;
  }
  size_t sources = made.op == PtxOp::Shuffle ? 2 : 1, results = 1;
  switch (made.op) {
  case PtxOp::Store:
  case PtxOp::Atomic:
    results = 0;
    break;
  case PtxOp::LoadParameter:
    sources = 0;
    break;
  case PtxOp::Load:
  case PtxOp::Matrices:
  case PtxOp::Shuffle:
  case PtxOp::Ballot:
  case PtxOp::Pack:
    break;
  default:
    sources = results = 0;
  }
  if (made.sources.size() < sources || made.results.size() < results)
    return fail("expected more operands of '" + opcode + "'");
  kernel.loads += made.op == PtxOp::Load && made.space == PtxSpace::Global;
  kernel.instructions.push_back(std::move(made));
}

/// ptxas makes of arithmetic in 64 bits what is read of it: an instruction for each half
/// of a logical operation, and none of a shift by 32, which renames a register. So that
/// products of 32 bits whose halves are used apart, as Philox does, have the instructions
/// of their machine code.
void Parser::dropUnreadHalves() {
  llvm::DenseMap<int, uint64_t> numbers;
  for (auto [reg, number] : kernel.constants)
    numbers[reg] = number;
  auto getNumber = [&](const PtxInstruction &in, size_t source) {
    auto found =
        source < in.sources.size() ? numbers.find(in.sources[source]) : numbers.end();
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  };
  constexpr uint8_t kLow = 1, kHigh = 2, kBoth = 3;
  std::vector<uint8_t> read(kernel.numRegisters, 0);
  // Halves of the result that are read.
  auto getRead = [&](const PtxInstruction &in) {
    uint8_t halves = 0;
    for (int result : in.results)
      halves |= read[result];
    return halves;
  };
  // Of what `in` reads, the halves that `wanted` halves of its result take.
  auto getWanted = [&](const PtxInstruction &in, uint8_t wanted,
                       size_t source) -> uint8_t {
    const uint8_t fromBelow = wanted & kHigh ? kBoth : wanted;
    if (in.op == PtxOp::Convert)
      return in.size < 8 && in.from == 8 ? kLow : kBoth;
    if (in.op == PtxOp::Unpack && in.from == 4 && in.results.size() == 2)
      return (read[in.results[0]] ? kLow : 0) | (read[in.results[1]] ? kHigh : 0);
    if (in.size != 8 || in.from != 8)
      return kBoth;
    switch (in.op) {
    case PtxOp::And: {
      // A number of 32 bits takes a half.
      std::optional<uint64_t> mask = getNumber(in, 1 - source);
      return mask && *mask >> 32 == 0 ? wanted & kLow : wanted;
    }
    case PtxOp::Or:
    case PtxOp::Xor:
    case PtxOp::Not:
    case PtxOp::Move:
      return wanted;
    case PtxOp::Add:
    case PtxOp::Sub:
    case PtxOp::Mul:
      return fromBelow;
    case PtxOp::ShiftLeft:
      return getNumber(in, 1) == 32 && source == 0 ? (wanted & kHigh ? kLow : 0) : kBoth;
    case PtxOp::ShiftRight:
      // The high half is the sign of what it takes, if that has one.
      return getNumber(in, 1) == 32 && source == 0
                 ? (wanted & kLow || (wanted & kHigh && in.isSigned) ? kHigh : 0)
                 : kBoth;
    default:
      return kBoth;
    }
  };
  for (bool changes = true; changes;) {
    changes = false;
    for (const PtxInstruction &in : llvm::reverse(kernel.instructions)) {
      const uint8_t wanted = in.results.empty() ? kBoth : getRead(in);
      for (auto [i, source] : llvm::enumerate(in.sources)) {
        const uint8_t halves = read[source] | getWanted(in, wanted, i);
        changes |= halves != read[source];
        read[source] = halves;
      }
    }
  }
  for (PtxInstruction &in : kernel.instructions) {
    if (in.size != 8 || in.from != 8 || in.unit != LaunchTrace::Integer)
      continue;
    const uint8_t halves = getRead(in);
    if (in.op == PtxOp::And && getNumber(in, 1) == 0xffffffff)
      in.issue = 0;
    else if (llvm::is_contained({PtxOp::And, PtxOp::Or, PtxOp::Xor, PtxOp::Not}, in.op))
      in.issue = llvm::popcount(halves);
    else if (in.op == PtxOp::Add || in.op == PtxOp::Sub)
      in.issue = halves == kLow ? 1 : 2;
    else if (in.op == PtxOp::ShiftLeft || in.op == PtxOp::ShiftRight)
      in.issue = getNumber(in, 1) == 32 && !in.isSigned ? 0 : in.issue;
    else
      continue;
    in.onUnit = in.issue;
  }
}

/// LOP3 does two logical operations, of three operands, at once.
void Parser::mergeLogicalPairs() {
  auto isLogical = [](const PtxInstruction &in) {
    return llvm::is_contained({PtxOp::And, PtxOp::Or, PtxOp::Xor}, in.op) &&
           in.issue == 1 && in.predicate < 0;
  };
  // By register: who writes it, if one instruction does, and how many read it.
  std::vector<PtxInstruction *> writer(kernel.numRegisters, nullptr);
  std::vector<unsigned> writers(kernel.numRegisters, 0), readers(kernel.numRegisters, 0);
  for (PtxInstruction &in : kernel.instructions) {
    for (int result : in.results) {
      writer[result] = &in;
      ++writers[result];
    }
    for (int source : in.sources)
      ++readers[source];
    if (in.predicate >= 0)
      ++readers[in.predicate];
  }
  // What alone reads the result of a logical operation, or the half of it that is read.
  auto findOperation = [&](int source) -> PtxInstruction * {
    while (writers[source] == 1 && readers[source] == 1) {
      PtxInstruction &in = *writer[source];
      if (isLogical(in))
        return &in;
      const bool renames = (in.op == PtxOp::Convert || in.op == PtxOp::Unpack) &&
                           in.issue == 0 && in.sources.size() == 1;
      if (!renames)
        return nullptr;
      source = in.sources.front();
    }
    return nullptr;
  };
  llvm::DenseSet<const PtxInstruction *> merged;
  for (PtxInstruction &in : kernel.instructions) {
    if (!isLogical(in))
      continue;
    for (int source : in.sources)
      if (PtxInstruction *first = findOperation(source);
          first && !merged.contains(first)) {
        first->issue = first->onUnit = 0;
        merged.insert(&in);
        break;
      }
  }
}

void Parser::findBlocks() {
  auto &code = kernel.instructions;
  llvm::BitVector begins(code.size() + 1);
  begins.set(0);
  for (auto [i, instruction] : llvm::enumerate(code)) {
    if (instruction.op == PtxOp::Branch)
      begins.set(instruction.target);
    if (instruction.op == PtxOp::Branch || instruction.op == PtxOp::Return)
      begins.set(i + 1);
  }
  kernel.blockOf.resize(code.size());
  for (unsigned i = 0; i < code.size(); ++i) {
    if (begins[i])
      kernel.blocks.emplace_back().begin = i;
    kernel.blocks.back().end = i + 1;
    kernel.blockOf[i] = kernel.blocks.size() - 1;
  }
  unsigned count = kernel.blocks.size();
  for (unsigned b = 0; b < count; ++b) {
    PtxBlock &block = kernel.blocks[b];
    const PtxInstruction &last = code[block.end - 1];
    bool falls = true;
    if (last.op == PtxOp::Branch) {
      block.successors.push_back(kernel.blockOf[last.target]);
      falls = last.predicate >= 0;
    } else if (last.op == PtxOp::Return) {
      falls = last.predicate >= 0;
    }
    if (falls && block.end < code.size())
      block.successors.push_back(b + 1);
    block.isLoop = llvm::is_contained(block.successors, b);
    // How many loads wait for each other: each value with the loads that it took.
    std::map<int, unsigned> depth;
    for (unsigned i = block.begin; i < block.end; ++i) {
      unsigned most = 0;
      for (int source : code[i].sources)
        if (auto found = depth.find(source); found != depth.end())
          most = std::max(most, found->second);
      bool isLoad = ((code[i].op == PtxOp::Load || code[i].op == PtxOp::Copy) &&
                     code[i].space == PtxSpace::Global) ||
                    code[i].op == PtxOp::Atomic;
      block.loads += isLoad;
      most += isLoad;
      block.chain = std::max(block.chain, most);
      for (int result : code[i].results)
        depth[result] = most;
    }
  }
  // Which blocks are on all ways to the end, from each block.
  std::vector<llvm::BitVector> after(count, llvm::BitVector(count, true));
  for (bool changes = true; changes;) {
    changes = false;
    for (unsigned b = count; b-- > 0;) {
      llvm::BitVector next(count, !kernel.blocks[b].successors.empty());
      for (unsigned successor : kernel.blocks[b].successors)
        next &= after[successor];
      next.set(b);
      if (next != after[b]) {
        after[b] = std::move(next);
        changes = true;
      }
    }
  }
  // The nearest one is that from which most others are still to come.
  for (unsigned b = 0; b < count; ++b) {
    unsigned best = count, size = 0;
    for (unsigned other : after[b].set_bits())
      if (other != b && after[other].count() > size) {
        best = other;
        size = after[other].count();
      }
    kernel.blocks[b].join = best;
  }
}

llvm::Expected<PtxModule> mpt::detail::parsePtx(StringRef text) {
  return Parser(text).run();
}
