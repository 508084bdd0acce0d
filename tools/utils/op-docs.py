"""Makes what the project says about its ops, from the .td files.

    llvm-tblgen --dump-json -I include -I LLVM-INCLUDE \\
      include/mpt/Dialect/MPT/IR/MPTReference.td -o ops.json
    op-docs.py WHAT ops.json OUTPUT

WHAT is `ops` for docs/Ops.md, `pytorch` for docs/FromPyTorch.md, or `tables` for
OpReference.inc, which is compiled into the dialect's library. A test compares the two
pages with what this makes.
"""

import contextlib
import io
import json
import re
import sys
import textwrap

WIDTH = 88
PYTORCH = ("torch.", "Tensor.", "F.", "nn.", "optim.", "amp.")
# How constraints are spelled in MLIR.
TYPES = {
    "bfloat16 type": "bf16", "f8E4M3FN type": "f8E4M3FN", "f8E5M2 type": "f8E5M2",
    "f8E8M0FNU type": "f8E8M0FNU", "f4E2M1FN type": "f4E2M1FN",
    **{f"{n}-bit float": f"f{n}" for n in (16, 32, 64)},
    **{f"{n}-bit signless integer": f"i{n}" for n in (1, 8, 16, 32, 64)},
}
FLOATS = ["f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2"]
INTEGERS = ["i1", "i8", "i16", "i32", "i64"]
ATTRIBUTES = {
    "I64Attr": "`N : i64`", "F64Attr": "`X : f64`", "UnitAttr": "flag", "TypeAttr": "type",
    "DenseI64ArrayAttr": "`array<i64: ..>`", "StrAttr": "string",
    "StrArrayAttr": "array of strings", "DictionaryAttr": "dictionary",
    "ElementsAttr": "elements", "AffineMapArrayAttr": "array of affine maps",
    "SymbolNameAttr": "symbol name", "FlatSymbolRefAttr": "symbol",
}


def join(words, last="or"):
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def fill(text, indent=""):
    """A paragraph in lines. No line begins with what Markdown takes for a list, and
    none ends in code."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"`[^`]*`", lambda code: code.group().replace(" ", "\x01"), text)
    text = re.sub(r" ([-+*=]|[-+*]=|\d+\.) ", "\x01\\1\x01", text)
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False,
                          break_on_hyphens=False)
    return "\n".join(lines).replace("\x01", " ")


class Reference:
    def __init__(self, records):
        self.records = records
        self.ops = [Op(self, records[name]) for name in records["!instanceof"]["MPT_Op"]]
        self.ops.sort(key=lambda op: op.name)
        self.names = {op.name for op in self.ops}
        self.groups = self.ordered("MPT_DocGroup")
        self.roles = self.ordered("MPT_StepRole")
        self.inits = self.ordered("MPT_InitKind")
        self.recipes = self.anonymous("MPT_Recipe")
        self.other_attributes = self.anonymous("MPT_OtherAttribute")
        attributes = {name for op in self.ops for name, _, _ in op.variables("arguments")}
        for other in self.other_attributes:
            if other["attribute"] not in attributes:
                sys.exit(f"no op has the attribute '{other['attribute']}'")
        for recipe in self.recipes:
            for word in re.findall(r"(\w+)\(", recipe["formula"]):
                if word not in self.names:
                    sys.exit(f"no op 'mpt.{word}' for the formula {recipe['formula']}")

    def ordered(self, name):
        found = [self.records[record] for record in self.records["!instanceof"][name]]
        return sorted(found, key=lambda record: record["order"])

    def anonymous(self, name):
        """Records without names, which are numbered in the file's order."""
        return [self.records[record] for record in sorted(
            self.records["!instanceof"][name],
            key=lambda record: [int(n) for n in re.findall(r"\d+", record)])]

    def get(self, reference):
        return self.records[reference["def"]]


class Op:
    """An op's name, summary, group and entry in the reference."""

    def __init__(self, reference, record):
        self.reference, self.record = reference, record
        self.name, self.summary = record["opName"], record["summary"].strip()
        self.group = record["opDocGroup"] and reference.get(record["opDocGroup"])
        if not self.group:
            sys.exit(f"mpt.{self.name}: no opDocGroup")
        others = [reference.get(name) for name in record["otherNames"]]
        self.others = [(other["name"], other["how"]) for other in others]

    def variables(self, field):
        """(name, record of the constraint, what is said about it) of each."""
        for argument, name in self.record[field]["args"]:
            record = self.reference.get(argument)
            if "OpVariable" not in record["!superclasses"]:
                sys.exit(f"mpt.{self.name}: nothing is said about '{name}'")
            yield name, self.reference.get(record["constraint"]), record["summary"]

    def spell_type(self, record):
        suffix = ""
        for wrapper, words in ("Optional", ", optional"), ("Variadic", ", zero or more"):
            if wrapper in record["!superclasses"]:
                record, suffix = self.reference.get(record["baseType"]), words
        summary = record["summary"]
        found = [(summary.index(text), spelled) for text, spelled in TYPES.items()
                 if re.search(rf"\b{re.escape(text)}", summary)]
        types = [spelled for _, spelled in sorted(found)]
        if not types:
            return "any type" + suffix
        if set(types) == set(FLOATS):
            return "float" + suffix
        if set(types) == set(FLOATS + INTEGERS + ["f8E8M0FNU", "f4E2M1FN"]):
            return "any, f8E8M0FNU, f4E2M1FN" + suffix
        if set(types) == set(FLOATS + INTEGERS + ["f4E2M1FN"]):
            return "any, f4E2M1FN" + suffix
        return ("any" if set(types) == set(FLOATS + INTEGERS) else join(types)) + suffix

    def spell_attribute(self, record):
        suffix, default = "", None
        if "OptionalAttr" in record["!superclasses"]:
            record, suffix = self.reference.get(record["baseAttr"]), ", optional"
        elif "DefaultValuedAttr" in record["!superclasses"]:
            default = record["defaultValue"]
            record = self.reference.get(record["baseAttr"])
        if "EnumAttr" in record["!superclasses"]:
            cases = [self.reference.get(case)
                     for case in self.reference.get(record["enum"])["enumerants"]]
            short = [f"`<{case['str']}>`" for case in cases]
            text = join([f"`#mpt.{record['mnemonic']}<{cases[0]['str']}>`"] + short[1:])
            if default:
                name = default.split("::")[-1]
                default = next(short[i] for i, case in enumerate(cases)
                               if case["symbol"] == name)
        else:
            text = ATTRIBUTES.get(record["!name"]) or record["summary"]
            if default and record["!name"] == "DenseI64ArrayAttr":
                default = f"`array<i64: {default.strip('{}')}>`"
            elif default and text[0] == "`":
                default = f"`{default} : {text.split(' : ')[1]}"
            elif default:
                default = f"`{default}`"
        return text + (f", default {default}" if default else suffix)

    def split_description(self):
        """The text and the example."""
        description = textwrap.dedent(self.record["description"]).strip()
        text, _, example = description.partition("Example:")
        if not text.strip() or not example.strip():
            sys.exit(f"mpt.{self.name}: no text, or no example")
        paragraphs = []
        for part in text.strip().split("\n\n"):
            if part.startswith("    "):  # Code.
                paragraphs.append(part)
            elif part.startswith("- "):
                items = re.split(r"\n(?=- )", part)
                paragraphs.append("\n".join(fill(item, "  ") for item in items))
            else:
                paragraphs.append(fill(part))
        return "\n\n".join(paragraphs), example.strip()

    def entry(self):
        """What the reference says, without the heading and the summary."""
        text, example = self.split_description()
        parts = [text]
        arguments = list(self.variables("arguments"))
        is_attribute = lambda record: "Attr" in record["!superclasses"]
        lists = [
            ("Operands", [(n, self.spell_type(r), d) for n, r, d in arguments
                          if not is_attribute(r)]),
            ("Attributes", [(n, self.spell_attribute(r), d) for n, r, d in arguments
                            if is_attribute(r)]),
            ("Results", [(n, self.spell_type(r), d)
                         for n, r, d in self.variables("results")]),
        ]
        for title, items in lists:
            if items:
                lines = [fill(f"- `{name}` ({kind}): {doc}", "  ") for name, kind, doc in items]
                parts.append(f"{title}:\n\n" + "\n".join(lines))
        facts = []
        torch = self.pytorch_names()
        if torch:
            names = [", ".join(names) + (f" ({how})" if how else "")
                     for how, names in torch.items()]
            facts.append(fill("PyTorch: " + "; ".join(names) + "."))
        common = [name for name, _ in self.others if not name.startswith(PYTORCH)]
        if common:
            facts.append(fill("Also called: " + ", ".join(f"`{name}`" for name in common) + "."))
        declarations = self.record["extraClassDeclaration"] or ""
        classes = re.findall(r"PrecisionClass::(\w+)\n? *[:;]", declarations)
        if self.group["order"] <= 4:
            rule = any(t["def"] == "MPT_Differentiable" for t in self.record["traits"])
            facts.append(f"Gradient: {'yes' if rule else 'none'}.")
        if len(classes) == 2:
            low = [name.lower() for name in classes]
            text = f"`{low[0]}`" if low[0] == low[1] else f"`{low[0]}` in f16, `{low[1]}` in bf16"
            facts.append(f"Precision class: {text}.")
        return "\n\n".join(parts + facts + ["Example:\n\n" + example])

    def pytorch_names(self):
        """PyTorch's names by how the op is used for them."""
        hows = {}
        for name, how in self.others:
            if name.startswith(PYTORCH):
                hows.setdefault(how, []).append(f"`{name}`")
        return hows

    def spell(self, how):
        """The op, and how it is used for one of its other names."""
        comma = "," if how.startswith("made ") else ""
        return f"`mpt.{self.name}`" + (f"{comma} {how}" if how else "")


def spell_recipe(recipe):
    formula = f"`{recipe['formula']}`" if recipe["formula"] else ""
    return ", ".join(part for part in (formula, recipe["note"]) if part)


def capitalize(text):
    return text[0].upper() + text[1:] if re.match(r"[a-z]{2,}\b", text) else text


def normalize(name):
    """As OpReference.cpp does."""
    return name.split(".")[-1].lower().replace("_", "")


GENERATED = """<!-- Made by tools/utils/op-docs.py from include/mpt/Dialect/MPT/IR/MPTReference.td. -->"""


def print_ops(reference):
    print(f"""# Ops

{GENERATED}

Every op of the `mpt` dialect. `mpt-opt --mpt-ops` prints the list, and
`mpt-opt --mpt-ops=NAME` one entry. [From PyTorch names to mpt](FromPyTorch.md) says
what to write for what you know from PyTorch.
""")
    dialect = reference.records["MPT_Dialect"]
    general, _, _ = textwrap.dedent(dialect["description"]).partition("**Step functions.**")
    print("\n\n".join(fill(part) for part in general.strip().split("\n\n")))
    print("\n" + fill(f"""
**How to read the entries.** A name in code is that of an operand, attribute or result. In
parentheses are its element types or its kind: `float` stands for {join(FLOATS, "and")}, and
`any` for these and {join(INTEGERS, "and")}. In brackets are shapes: [N, H, W, C] has four
dimensions, [.., C] any number of them with C last, and a scalar none. N is the batch, H and
W are height and width (in attention, H is the number of heads), C channels, T and S
positions in a sequence, and D the size of a head. Attributes with a default, and optional
ones, may be left out. A flag is on if it is there: `{{transpose_rhs}}`. "Gradient" says
whether `--mpt-autodiff` differentiates the op. The precision class says what
[autocast](Precision.md) does with it."""))
    print("""
## Arguments and results of a step

| attribute | on | meaning |
| --- | --- | --- |
| `mpt.name` | arguments, results | the name in files, metrics and errors, unique among arguments and among results |
| `mpt.role` | arguments | what the argument is for, see below |
| `mpt.init` | arguments | the first value, see below |
| `mpt.updates` | results | the `mpt.name` of the argument whose next value this is; the type is the argument's |
| `mpt.loss` | results | one of [several losses](Autodiff.md#several-losses) |
| `mpt.decay` | parameters | `false` exempts the parameter from weight decay |
| `mpt.master`, `mpt.low_of` | parameters, state | how [master weights](MasterWeights.md) are kept |

| `mpt.role` | |
| --- | --- |""")
    for role in reference.roles:
        print(f"| `{role['name']}` | {role['description']} |")
    print("""
The values of all roles but `input` and `target` stay with the program between steps, and
are saved in checkpoints.

`mpt.init = {kind = "uniform", low = -0.1, high = 0.1}` is a dictionary of a kind and its
numbers. Fans are integers. Random kinds are for floats.

| `kind` | numbers | first value |
| --- | --- | --- |""")
    for kind in reference.inits:
        numbers = ", ".join(f"`{name}`" for name in kind["parameters"])
        print(f"| `{kind['name']}` | {numbers} | {kind['description']} |")
    print("""
Both have a form as an attribute of the dialect, too: `mpt.role = #mpt.role<parameter>` and
`mpt.init = #mpt.init<uniform {low = -0.1, high = 0.1}>`. On arguments the two forms are
equal, and passes keep the one that they find and add the text. A planned program
(`mpt_program.buffer`) has first values as attributes alone. C++ reads all of this with
`mpt::StepView`, whatever the form.""")
    print("\n## All ops\n\n| op | |\n| --- | --- |")
    for op in reference.ops:
        # GitHub's anchors keep letters, digits and underscores.
        print(f"| [`mpt.{op.name}`](#mpt{op.name}) | {op.summary} |")
    for group in reference.groups:
        print(f"\n## {group['summary']}")
        if group["description"]:
            print("\n" + fill(group["description"]))
        for op in reference.ops:
            if op.group is group:
                print(f"\n### `mpt.{op.name}`\n\n{fill(capitalize(op.summary))}.\n\n{op.entry()}")


def print_pytorch(reference):
    print(f"""# From PyTorch names to mpt

{GENERATED}

What to write for the functions and modules of PyTorch. `F` is torch.nn.functional, `nn`
torch.nn, `optim` torch.optim, and `amp` torch.amp. [Ops](Ops.md) says everything about each
op. An unknown op, such as `mpt.mean`, gets an error that says what this page says.

Four things differ from PyTorch everywhere:

- **Layouts.** Images are [N, H, W, C]. Filters are [KH, KW, C, O], or PyTorch's
  [O, C, KH, KW] with `oihw`; weights of linear layers are [in, out], or PyTorch's
  [out, in] with `transpose_weight`.
- **Axes** are attributes that count from 0: `axes = array<i64: 1>`. There are no negative
  ones. Softmax, normalization and cross-entropy work on the last axis.
- **Parameters** are arguments of the function with `mpt.role = "parameter"`, not objects.
- **Training** is not written: `--mpt-autodiff` makes the backward pass,
  `--mpt-train-step` the optimizer's step, `--mpt-loss-scale` what GradScaler does, and
  `--mpt-autocast` what autocast does. `mpt-run` does all of it ([Training](Training.md)).

`nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))` with `F.mse_loss` is

```mlir
func.func @loss(
    %w0: tensor<4x8xf32> {{mpt.name = "w0", mpt.role = "parameter",
                          mpt.init = {{kind = "kaiming_uniform", fan_in = 4 : i64}}}},
    %b0: tensor<8xf32> {{mpt.name = "b0", mpt.role = "parameter",
                        mpt.init = {{kind = "kaiming_uniform", fan_in = 4 : i64}}}},
    %w1: tensor<8x1xf32> {{mpt.name = "w1", mpt.role = "parameter",
                          mpt.init = {{kind = "kaiming_uniform", fan_in = 8 : i64}}}},
    %b1: tensor<1xf32> {{mpt.name = "b1", mpt.role = "parameter",
                        mpt.init = {{kind = "kaiming_uniform", fan_in = 8 : i64}}}},
    %x: tensor<?x4xf32> {{mpt.name = "x", mpt.role = "input"}},
    %t: tensor<?x1xf32> {{mpt.name = "t", mpt.role = "target"}})
    -> (tensor<f32> {{mpt.name = "loss"}}) {{
  %h = mpt.linear %x, %w0, %b0 {{epilogue = #mpt.epilogue<relu>}}
    : (tensor<?x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %y = mpt.linear %h, %w1, %b1
    : (tensor<?x8xf32>, tensor<8x1xf32>, tensor<1xf32>) -> tensor<?x1xf32>
  %l = mpt.mse_loss %y, %t : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<f32>
  return %l : tensor<f32>
}}
```""")
    for group in reference.groups:
        rows = []
        for op in reference.ops:
            if op.group is group:
                rows += [f"| {', '.join(names)} | {op.spell(how)} |"
                         for how, names in op.pytorch_names().items()]
        if rows:
            print(f"\n## {group['summary']}\n\n| PyTorch | mpt |\n| --- | --- |")
            print("\n".join(rows))
    print("""
## Functions without an op of their own

The formulas are made of ops without their `mpt.`. A number is an `mpt.constant`, which
elementwise ops broadcast. In `reduce(x, mean)` and `compare(x, 0, gt)` the last words are
the attributes `kind` and `predicate`. Elementwise ops that follow each other become
one kernel, so most formulas cost what an op would.

| PyTorch | mpt |
| --- | --- |""")
    for recipe in reference.recipes:
        names = [f"`{name}`" for name in recipe["names"] if name.startswith(PYTORCH)]
        if names:
            print(f"| {', '.join(names)} | {spell_recipe(recipe)} |")


def quote(text):
    return json.dumps(text, ensure_ascii=True)


def print_tables(reference):
    print("// Made by tools/utils/op-docs.py.")
    print("\n#ifdef GET_OP_REFERENCES")
    for op in reference.ops:
        print(f'{{"{op.name}", {quote(op.summary)}, R"MPT({op.entry()})MPT"}},')
    print("#endif\n\n#ifdef GET_OTHER_NAMES")
    taken = {normalize(op.name): None for op in reference.ops}
    spelled = [(name, op.spell(how)) for op in reference.ops for name, how in op.others]
    spelled += [(name, spell_recipe(recipe)) for recipe in reference.recipes
                for name in recipe["names"]]
    for name, text in spelled:
        # What an op is called for another use of its own name is for the pages.
        key = normalize(name)
        if name.startswith("amp.") or taken.get(key, "") is None:
            continue
        if taken.setdefault(key, text) != text:
            sys.exit(f"'{name}' is both {taken[key]} and {text}")
    for key, text in sorted(taken.items()):
        if text is not None:
            print(f"{{{quote(key)}, {quote(text)}}},")
    print("#endif\n\n#ifdef GET_OTHER_ATTRIBUTES")
    for other in reference.other_attributes:
        for name in other["names"]:
            print(f"{{{quote(name)}, {quote(other['attribute'])}}},")
    print("#endif\n\n#ifdef GET_STEP_ROLES")
    for role in reference.roles:
        print(f'"{role["name"]}",')
    print("#endif\n\n#ifdef GET_INIT_KINDS")
    for kind in reference.inits:
        print(f'{{"{kind["name"]}", {{{", ".join(quote(p) for p in kind["parameters"])}}}}},')
    print("#endif")


def main():
    pages = {"ops": print_ops, "pytorch": print_pytorch, "tables": print_tables}
    if len(sys.argv) != 4 or sys.argv[1] not in pages:
        sys.exit(__doc__)
    with open(sys.argv[2], encoding="utf-8") as file:
        reference = Reference(json.load(file))
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        pages[sys.argv[1]](reference)
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(text.getvalue())


if __name__ == "__main__":
    main()
