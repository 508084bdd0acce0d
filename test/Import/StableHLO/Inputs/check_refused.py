"""Compares the table of what is refused in docs/StableHLO.md with what mpt-opt says.

check_refused.py MPT_OPT DOCS: prints rows without a case in refused.mlir, and reasons
without a row.
"""
import os
import re
import subprocess
import sys


def read_table(path):
    """(op, reason) of each row; a cell names several ops."""
    text = open(path, encoding="utf-8").read().split("\n## What is refused\n")[1].split("\n## ")[0]
    pairs = set()
    for cell, reason in re.findall(r"^\| (`.*?) \| (.*?) \|", text, re.M):
        pairs |= {(op, reason.strip("`")) for op in re.findall(r"`([^`]+)`", cell)}
    return pairs


def read_errors(tool):
    source = os.path.join(os.path.dirname(__file__), "refused.mlir")
    done = subprocess.run([tool, source, "--allow-unregistered-dialect", "--split-input-file",
                           "--mpt-convert-stablehlo"], capture_output=True, text=True)
    if done.returncode != 1:
        sys.exit(f"mpt-opt: expected exit status 1, found {done.returncode}")
    found = re.findall(r"^  (\S+)(?: @\w+)?, \d+ times?(?:: (.*))?$", done.stderr, re.M)
    return {pair for pair in found if not pair[0].startswith("test.")}


table, errors = read_table(sys.argv[2]), read_errors(sys.argv[1])
for op, reason in sorted(table - errors):
    print(f"{op}: the page says '{reason}', no case of refused.mlir does")
for op, reason in sorted(errors - table):
    print(f"{op}: '{reason}' has no row in the page")
print(f"{len(table & errors)} refusals as the page says")
