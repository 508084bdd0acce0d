#!/usr/bin/env python3
# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Round-trips every example of a dialect's ops through mpt-opt.

    doc_examples.py OPS.td --mpt-opt=... --llvm-tblgen=... --output=... -I DIR...

An example of ops on tensors or buffers becomes the body of a function or
program; the values that it does not define become arguments or buffers of the
types that it gives them. An op without a summary, a description or an example
that holds the op is an error.
"""

import argparse
import json
import re
import subprocess
import sys

NAME = re.compile(r"%[A-Za-z_0-9]+")


def split_types(text):
    """The types of a list, cut at the commas outside of brackets."""
    types, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "<([{":
            depth += 1
        elif char in ">)]}" and text[i - 1 : i + 1] != "->":
            depth -= 1
        elif char == "," and depth == 0:
            types.append(text[start:i].strip())
            start = i + 1
    return types + [text[start:].strip()] if text.strip() else []


# How a line begins that goes on with the statement of the line before.
CONTINUED = (": ", "-> ", "{", "maps ", "ins(", "outs(", "workspace(")


def join_statements(example):
    """The example with each statement on one line, without the bodies of kernels."""
    lines = []
    for line in example.split("\n"):
        if lines and (lines[-1].endswith(",") or line.strip().startswith(CONTINUED)):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return re.sub(r"(mpt_kernel\.kernel .*) \{\n(?:.*\n)*?\s*\}", r"\1", "\n".join(lines))


def free_values(example):
    """Maps names that the example uses but does not define to their types."""
    types, defined = {}, set()
    statements = join_statements(example).split("\n")
    for line in statements:
        if line.strip().startswith("^"):  # arguments of a body
            defined.update(NAME.findall(line))
            continue
        results = re.match(r"\s*(%.*?)\s*=\s", line)
        if results:
            defined.update(NAME.findall(results.group(1)))
            line = line[results.end() :]
        functional = re.search(r" : \((.*)\) -> ", line)
        if functional:
            names = NAME.findall(line[: functional.start()])
            pairs = [(names, split_types(functional.group(1)))]
        else:
            pairs = [
                (NAME.findall(part), split_types(listed))
                for part, listed in re.findall(r"((?:%\w+(?:, )?)+) : ([^)]*)", line)
            ]
        for names, listed in pairs:
            if len(names) != len(listed):
                raise ValueError(f"{len(names)} operands of {len(listed)} types")
            types.update({n: t for n, t in zip(names, listed) if n not in defined})
    return types


def wrap(example):
    """A module around the example."""
    whole = r"^\s*(func\.func|mpt_program\.program|mpt_kernel\.func)"
    if re.search(whole, example, re.M):
        return example
    free = free_values(example)
    if "mpt_program." in example:
        buffers = "\n".join(
            f"{name} = mpt_program.buffer <input> {i} : {type_}"
            for i, (name, type_) in enumerate(free.items())
        )
        return (
            'mpt_program.program @p attributes {target = #mpt.target<cpu>, max_threads = 1 : i64, '
            "arena_bytes = 1048576 : i64, state_bytes = 0 : i64, "
            f"output_bytes = 0 : i64}} {{\n{buffers}\n{example}\n}}"
        )
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in free.items())
    return f"func.func @example({arguments}) {{\n{example}\nreturn\n}}"


def describe(record, dialect):
    """The examples of an op, and what is wrong with its documentation."""
    name = dialect + "." + record["opName"]
    problems = []
    if not record["summary"].strip():
        problems.append(f"{name}: no summary")
    examples = re.findall(r"```mlir\n(.*?)```", record["description"], re.DOTALL)
    if not examples:
        problems.append(f"{name}: no example")
    elif not any(re.search(re.escape(name) + r"\b", text) for text in examples):
        problems.append(f"{name}: the op is in none of its examples")
    modules = []
    for example in examples:
        try:
            modules.append(f"// Example of {name}\n{wrap(example)}")
        except ValueError as error:
            problems.append(f"{name}: {error} in\n{example}")
    return modules, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--llvm-tblgen", required=True)
    parser.add_argument("--output", required=True, help="where the examples go")
    parser.add_argument("-I", dest="includes", action="append", default=[])
    args = parser.parse_args()
    command = [args.llvm_tblgen, "--dump-json", args.file]
    command += ["-I" + path for path in args.includes]
    records = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    modules, problems = [], []
    ops = [records[name] for name in records["!instanceof"]["Op"]]
    for op in ops:
        op_modules, op_problems = describe(op, records[op["opDialect"]["def"]]["name"])
        modules += op_modules
        problems += op_problems
    with open(args.output, "w", encoding="utf-8") as file:
        file.write("\n// -----\n".join(modules))
    # Compares the module with what comes back from bytecode, and from text.
    run = subprocess.run(
        [args.mpt_opt, "--verify-roundtrip", "--split-input-file", args.output],
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if run.returncode:
        problems.append(f"mpt-opt --verify-roundtrip failed on {args.output}")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(ops)} ops, {len(modules)} examples, {len(problems)} problems")
    return 1 if problems or not ops else 0


if __name__ == "__main__":
    sys.exit(main())
