"""Runs autocast twice on a module of random StableHLO functions: the second run must
change nothing.

usage: run-twice.py MPT-OPT FUNCTIONS
"""

import random
import subprocess
import sys

OPS = [("dot", 2), ("add", 2), ("multiply", 2), ("tanh", 1), ("maximum", 2),
       ("exponential", 1), ("transpose", 1), ("negate", 1), ("power", 2), ("reshape", 1), ("transpose", 1), ("slice", 1)]
OPTIONS = ["type=f16", "type=bf16 mixed-results=false", "type=f16 strategy=paint",
           "policy=torch-cuda", "policy=apex-O2"]


def make(seed, size):
    """A function of 18 ops, each of which reads some of the last five values."""
    choose = random.Random(seed)
    tensor = f"tensor<{size}x{size}xf32>"
    values, body = ["%a", "%b"], ""
    for i in range(18):
        name, count = choose.choice(OPS)
        operands = [choose.choice(values[-5:]) for _ in range(count)]
        body += (f'  %v{i} = "stablehlo.{name}"({", ".join(operands)}) : '
                 f'({", ".join([tensor] * count)}) -> {tensor}\n')
        values.append(f"%v{i}")
    return (f"func.func @f{seed}(%a: {tensor}, %b: {tensor}) -> ({tensor}, {tensor}) {{\n{body}"
            f"  return {values[-2]}, {values[-1]} : {tensor}, {tensor}\n}}\n")


def run(tool, text, options):
    done = subprocess.run([tool, "--allow-unregistered-dialect",
                           "--mpt-autocast=" + options],
                          input=text, capture_output=True, text=True, check=True)
    return done.stdout


text = "".join(make(seed, (32, 512)[seed % 2]) for seed in range(int(sys.argv[2])))
changed = 0
for options in OPTIONS:
    once = run(sys.argv[1], text, options).split("func.func")
    twice = run(sys.argv[1], "func.func".join(once), options).split("func.func")
    assert "f16" in "".join(once), options
    for first, second in zip(once, twice, strict=True):
        if first != second:
            changed += 1
            print(f"changed by the second run with {options}: func.func{first}")
print(changed, "functions changed")
