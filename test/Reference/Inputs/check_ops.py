"""Runs every tensor op in one step and compares the results with NumPy.

  check_ops.py MPT_RUN TD_DIRECTORY WORK_DIRECTORY ENGINE [CASE...]

The step's arguments are the ops' operands (state) and one state
per result that the result updates; so the checkpoint holds all results.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from op_cases import all_cases
from storage import TYPES, finite, load, replace, save, spell

# Structure: bodies are tested in unit tests.
STRUCTURE = {"checkpoint", "scan", "yield"}


def check_coverage(directory, cases):
    """Every op that the dialect's files define has a case."""
    names = set()
    for group in ("Pointwise", "Linalg", "Shape", "NN", "Training", "Gemm", "BlockScale"):
        text = (Path(directory) / f"MPTOps{group}.td").read_text()
        names |= set(re.findall(r'^def MPT_\w+\s*:\s*MPT_\w+<\s*"(\w+)"', text, re.M))
    assert len(names) > 80, names
    missing = names - STRUCTURE - {case.op for case in cases}
    assert not missing, f"ops without a case in op_cases.py: {sorted(missing)}"


# The runtime's library has products and sums by index for f32 and narrower.
NO_F64 = {"matmul", "linear", "conv2d", "conv2d_input_grad", "conv2d_filter_grad", "attention",
          "attention_grad", "lstm_cell", "scatter_add", "scatter_reduce"}


def is_compiled(case):
    """Whether compiled code takes the case; what it does not it refuses. Only GPUs'
    library has mpt.gemm and its operands."""
    return case.op not in ("gemm", "gemm_quantize") and not (case.op in NO_F64 and case.is_wide())


def build(cases):
    arguments, results, body, returned, state = [], [], [], [], {}
    for number, case in enumerate(cases):
        names = []
        for i, (type, array) in enumerate(case.inputs):
            name = f"c{number}_in{i}"
            state[name] = (type, array)
            arguments.append(f'%{name}: {spell(type, np.shape(array))} {{mpt.name = "{name}", mpt.role = "optimizer_state"}}')
            names.append("%" + name)
        for i, (type, want) in enumerate(case.outputs):
            name = f"c{number}_out{i}"
            full = spell(type, np.shape(want))
            state[name] = (type, np.zeros(np.shape(want)))
            arguments.append(f'%{name}: {full} {{mpt.name = "{name}", mpt.role = "optimizer_state"}}')
            results.append(f'{full} {{mpt.name = "new_{name}", mpt.updates = "{name}"}}')
            returned.append((f"%r{number}#{i}" if len(case.outputs) > 1 else f"%r{number}", full))
        types = ", ".join(spell(t, np.shape(a)) for t, a in case.inputs)
        given = ", ".join(spell(t, np.shape(w)) for t, w in case.outputs)
        count = f":{len(case.outputs)}" if len(case.outputs) > 1 else ""
        text = case.syntax or " ".join([", ".join("{}" for _ in names), "{attributes}"])
        text = text.replace("{attributes}", f"{{{{{case.attributes}}}}}" if case.attributes else "")
        tail = "" if case.op == "constant" else f" : ({types}) -> ({given})"
        body.append(f"  %r{number}{count} = mpt.{case.op} " + text.format(*names) + tail)
    zero = "tensor<f32>"
    results.append(f'{zero} {{mpt.name = "loss"}}')
    lines = ["func.func @step(" + ",\n    ".join(arguments) + ")", "    -> (" + ",\n    ".join(results) + ") {"]
    lines += body + [f"  %loss = mpt.constant dense<0.0> : {zero}"]
    values = ", ".join(name for name, _ in returned) + ", %loss"
    lines += [f"  return {values} : " + ", ".join(type for _, type in returned) + f", {zero}", "}", ""]
    return "\n".join(lines), state


def compare(case, outputs, engine):
    """Complaints about results that are not the expected ones."""
    problems = []
    for i, ((type, want), got) in enumerate(zip(case.outputs, outputs)):
        want = np.asarray(want)
        if type.startswith("i"):
            wrong = got != want
        else:
            kind = TYPES[type]
            rounded = kind.round(want)
            # The reference computes in f64 and rounds once: half a unit, and the
            # error of two f64 evaluations. Compiled code computes in f32 (f64 for
            # f64): the case says how far, in units of that arithmetic.
            slack = 1e-13 * case.scale(i)
            if engine == "cpu":
                unit = 2.0**-53 if case.is_wide() else 2.0**-24
                slack = case.error(i) * unit
            finite = np.isfinite(rounded)
            allowed = 0.5 * kind.ulp(np.where(finite, want, 0.0)) + slack
            if engine == "cpu" and type != "f64":
                # Where the slack crosses a tie the other neighbour comes out.
                allowed = allowed + 0.5 * kind.ulp(np.where(finite, want, 0.0)) * 2**-20
            with np.errstate(invalid="ignore"):
                near = np.abs(got - np.where(finite, want, 0.0)) <= allowed
            same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
            wrong = ~np.where(finite, near, same)
        if got.shape != want.shape or np.any(wrong):
            where = np.argwhere(np.atleast_1d(wrong))[:3].tolist()
            problems.append(
                f"{case.describe()} result {i}: wrong at {where}: got "
                f"{np.atleast_1d(got)[np.atleast_1d(wrong)][:3]}, want "
                f"{np.atleast_1d(want)[np.atleast_1d(wrong)][:3]}"
            )
    return problems


def main(mpt_run, td_directory, work, engine, *only):
    cases = all_cases()
    check_coverage(td_directory, cases)
    if engine == "cpu":
        cases = [case for case in cases if is_compiled(case)]
    if only:
        cases = [case for case in cases if case.op in only]
    work = Path(work)
    work.mkdir(parents=True, exist_ok=True)
    text, state = build(cases)
    (work / "step.mlir").write_text(text)
    # First values are finite numbers. Operands that are not come by a checkpoint.
    save(work / "init.safetensors", {name: (type, finite(type, array))
                                     for name, (type, array) in state.items()})

    def run(*options):
        subprocess.run([mpt_run, "step.mlir", *options, "--progress=none", f"--engine={engine}"],
                       cwd=work, check=True, stdout=subprocess.DEVNULL)

    run("--init=init.safetensors", "--steps=1", "--checkpoint=first.safetensors")
    replace(work / "first.safetensors", state)
    run("--resume=first.safetensors", "--steps=2", "--checkpoint=out.safetensors")
    found = load(work / "out.safetensors")
    problems = []
    for number, case in enumerate(cases):
        outputs = [found[f"c{number}_out{i}"] for i in range(len(case.outputs))]
        problems += compare(case, outputs, engine)
    for problem in problems:
        print(problem)
    ops = len({case.op for case in cases})
    print(f"{engine}: {len(cases)} cases of {ops} ops, {len(problems)} wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
