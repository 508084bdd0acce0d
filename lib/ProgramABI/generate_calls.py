#!/usr/bin/env python3
# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what the records of Calls.td say as C++.

usage: generate_calls.py abi|ops RECORDS.json OUTPUT

RECORDS.json is `llvm-tblgen --dump-json Calls.td`. `abi` writes Calls.h.inc: the calls'
numbers, names, structs and lists of fields, without LLVM. `ops` writes CallOps.cpp.inc:
the conversions between the ops of mpt_program and those structs.
"""

import json
import sys

BUFFERS = ("In", "OptionalIn", "VariadicIn", "Out", "OptionalOut", "VariadicOut", "Workspace")
# As optional buffers and lists of buffers begin.
PREFIXES = "Optional", "Variadic"
TYPES = {"UnitAttr": "bool", "I64Attr": "int64_t", "F64Attr": "double",
         "DenseI64ArrayAttr": "std::vector<int64_t>"}


def camel(name, capital=False):
    words = name.split("_")
    rest = "".join(word.capitalize() for word in words[1:])
    return (words[0].capitalize() if capital else words[0]) + rest


def without_prefix(kind):
    """In, Out or Workspace."""
    for prefix in PREFIXES:
        kind = kind.removeprefix(prefix)
    return kind


class Records:
    def __init__(self, path):
        with open(path) as file:
            self.all = json.load(file)
        names = self.all["!instanceof"]["Program_CallOp"]
        self.calls = sorted((Call(self, name) for name in names), key=lambda call: call.id)
        ids = [call.id for call in self.calls]
        if len(set(ids)) != len(ids):
            sys.exit("Calls.td: two calls have one number: %s" % ids)

    def get(self, reference):
        return reference["def"], self.all[reference["def"]]

    def enum(self, reference):
        """Name and cases of the enum of an EnumAttr."""
        _, info = self.get(self.get(reference)[1]["enum"])
        cases = [self.get(case)[1] for case in info["enumerants"]]
        return info["className"], [(case["symbol"], case["value"]) for case in cases]

    def enums(self):
        found = {}
        for call in self.calls:
            for field in call.attributes:
                if field.enum:
                    found[field.enum[0]] = field.enum[1]
        return sorted(found.items())


class Field:
    """An attribute as a member of a call's struct."""

    def __init__(self, records, reference, name, where):
        self.wire, self.name, self.enum = name, camel(name), None
        self.getter, self.default = "get" + camel(name, True), ""
        kind, record = records.get(reference)
        classes = record["!superclasses"]
        wrap = "%s"
        if "DefaultValuedAttr" in classes:
            self.default = record["defaultValue"]
        if "OptionalAttr" in classes:
            wrap = "std::optional<%s>"
        while record.get("baseAttr") and "Int64s" not in classes:
            reference = record["baseAttr"]
            kind, record = records.get(reference)
            classes = record["!superclasses"]
        if "Int64s" in classes:
            base = "std::array<int64_t, %d>" % record["count"]
        elif "EnumAttr" in classes:
            self.enum = records.enum(reference)
            base = self.enum[0]
            # As rt knows it.
            self.default = (self.default and "%s::%s" % (base, self.default.split("::")[-1])
                            or "%s(0)" % base)
        elif kind in TYPES:
            base = TYPES[kind]
        else:
            sys.exit("Calls.td: %s: no member of a struct for the attribute '%s' (%s)"
                     % (where, name, kind))
        self.type = wrap % base
        if not self.default and wrap == "%s" and base != TYPES["DenseI64ArrayAttr"]:
            self.default = {"bool": "false", "int64_t": "0", "double": "0"}.get(base, "{}")


class Call:
    def __init__(self, records, record_name):
        record = records.all[record_name]
        self.id, self.mnemonic = record["wireId"], record["opName"]
        # The name of the op's C++ class, without Op.
        self.name = record_name.split("_", 1)[1][:-len("Op")]
        self.summary = record["summary"]
        self.buffers, self.attributes = [], []
        for reference, name in record["arguments"]["args"]:
            kind = reference["def"]
            if kind in BUFFERS:
                self.buffers.append((kind, name))
            else:
                self.attributes.append(Field(records, reference, name, record_name))
        kinds = [without_prefix(kind) for kind, _ in self.buffers]
        if kinds != sorted(kinds, key=BUFFERS.index) or kinds[-1] != "Workspace":
            sys.exit("Calls.td: %s: expected inputs, outputs, and the workspace, in that "
                     "order" % record_name)

    def optional(self, kind):
        return ["has" + camel(name, True) for k, name in self.buffers if k == "Optional" + kind]

    def count(self, kind):
        """The number of inputs or outputs, as an expression."""
        fixed = sum(k == kind for k, _ in self.buffers)
        lists = ["static_cast<uint32_t>(num%s)" % camel(name, True)
                 for k, name in self.buffers if k == "Variadic" + kind]
        return " + ".join([str(fixed)] + self.optional(kind) + lists)

    def flags(self):
        return [name for kind, name in self.buffers if kind.startswith("Optional")]

    def lists(self):
        return [name for kind, name in self.buffers if kind.startswith("Variadic")]


def write_abi(records, out):
    out("/// The number of a library call in a program's table.")
    out("enum class CallId : uint32_t {")
    for call in records.calls:
        out("  /// %s." % call.summary)
        out("  %s = %d," % (call.name, call.id))
    out("};\n")
    for name, cases in records.enums():
        out("enum class %s : int32_t { %s };"
            % (name, ", ".join("%s = %d" % case for case in cases)))
        out("inline bool isValid(%s value) {" % name)
        out("  return %s;\n}\n"
            % " || ".join("value == %s::%s" % (name, symbol) for symbol, _ in cases))
    for call in records.calls:
        fields = [(field.wire, field.name) for field in call.attributes]
        fields += [("has_" + flag, "has" + camel(flag, True)) for flag in call.flags()]
        fields += [("num_" + name, "num" + camel(name, True)) for name in call.lists()]
        out("/// %s: %s." % (call.mnemonic, call.summary))
        out("struct %sCall {" % call.name)
        out("  static constexpr CallId id = CallId::%s;" % call.name)
        out('  static constexpr const char *name = "%s";' % call.mnemonic)
        for field in call.attributes:
            out("  %s %s%s;" % (field.type, field.name,
                                " = " + field.default if field.default else ""))
        for flag in call.flags():
            out("  bool has%s = false;" % camel(flag, True))
        for name in call.lists():
            out("  int64_t num%s = 0;" % camel(name, True))
        out("  uint32_t numInputs() const { return %s; }" % call.count("In"))
        out("  uint32_t numOutputs() const { return %s; }" % call.count("Out"))
        out("  /// Calls visit(name, field) for each field, in the table's order.")
        out("  template <typename Self, typename Visitor>")
        out("  static void forEachField(%sSelf &self, Visitor &&visit) {"
            % ("" if fields else "[[maybe_unused]] "))
        for wire, name in fields:
            out('    visit("%s", self.%s);' % (wire, name))
        if not fields:
            out("    (void)visit;")
        out("  }\n};\n")
    out("/// One of the calls, with its attributes.")
    out("using LibraryCall = std::variant<%s>;"
        % ", ".join(call.name + "Call" for call in records.calls))


def write_ops(records, out):
    for call in records.calls:
        kinds = [without_prefix(kind) for kind, _ in call.buffers]
        op, outputs, workspace = call.name + "Op", kinds.index("Out"), kinds.index("Workspace")
        out("OperandRange %s::getInputs() {" % op)
        out("  return getOperands().take_front(getODSOperandIndexAndLength(%d).first);\n}"
            % outputs)
        out("OperandRange %s::getOutputs() {" % op)
        out("  unsigned first = getODSOperandIndexAndLength(%d).first;" % outputs)
        out("  return getOperands().slice(first, "
            "getODSOperandIndexAndLength(%d).first - first);\n}" % workspace)
        out("MutableOperandRange %s::getDpsInitsMutable() {" % op)
        out("  unsigned first = getODSOperandIndexAndLength(%d).first;" % outputs)
        out("  return MutableOperandRange(getOperation(), first, "
            "getODSOperandIndexAndLength(%d).first - first);\n}" % workspace)
        out("rt::LibraryCall %s::getCall() {\n  rt::%sCall call;" % (op, call.name))
        for field in call.attributes:
            out("  convert(%s(), call.%s);" % (field.getter, field.name))
        for flag in call.flags():
            out("  call.has%s = get%s() != nullptr;" % ((camel(flag, True),) * 2))
        for name in call.lists():
            out("  call.num%s = get%s().size();" % ((camel(name, True),) * 2))
        out("  return call;\n}")
        out("static LibraryCallOpInterface build(OpBuilder &b, Location loc, "
            "[[maybe_unused]] const rt::%sCall &call, [[maybe_unused]] Buffers in, "
            "Buffers out, Value workspace) {" % call.name)
        arguments = []
        for kind, name in call.buffers:
            if kind.startswith("Variadic"):
                out("  ValueRange %s = %s.next(call.num%s);"
                    % (name + "Buffers", without_prefix(kind).lower(), camel(name, True)))
                arguments.append(name + "Buffers")
            elif kind != "Workspace":
                present = "call.has" + camel(name, True) if kind[:8] == "Optional" else "true"
                out("  Value %s = %s.next(%s);"
                    % (name + "Buffer", without_prefix(kind).lower(), present))
                arguments.append(name + "Buffer")
        arguments.append("workspace")
        for field in call.attributes:
            own = ("F32Matmuls", "Rounding", "SumOrder")
            ods = "::mpt::" if field.enum and field.enum[0] not in own else ""
            arguments.append("static_cast<%s%s>(call.%s)" % (ods, field.enum[0], field.name)
                             if field.enum else "attribute(b, call.%s)" % field.name)
        out("  return cast<LibraryCallOpInterface>(%s::create(b, loc, %s).getOperation());\n}\n"
            % (op, ", ".join(arguments)))


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("abi", "ops"):
        sys.exit(__doc__)
    lines = ["// Made from Calls.td by generate_calls.py. Do not edit.\n"]
    (write_abi if sys.argv[1] == "abi" else write_ops)(Records(sys.argv[2]), lines.append)
    with open(sys.argv[3], "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
