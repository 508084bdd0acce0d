"""Are the answers to "what if this op were allowed" true?

    check_counterfactuals.py MPT-OPT GRAPH OPTIONS

GRAPH has one op a line, each with attributes {node = ...}, and no locations of its
own. For each remark mpt.autocast.denied with numbers, allows that op in the text and
counts the casts and low ops in the remarks of a new run.
"""

import re
import subprocess
import sys
import tempfile


def remarks(mpt_opt, lines, options):
    with tempfile.TemporaryDirectory() as directory:
        with open(f"{directory}/graph.mlir", "w", encoding="utf-8") as file:
            file.writelines(lines)
        subprocess.run(
            [mpt_opt, f"{directory}/graph.mlir", "--allow-unregistered-dialect",
             f"--mpt-autocast={options}", "--remarks-filter=mpt[.]autocast",
             "--remark-format=yaml", f"--remarks-output-file={directory}/remarks.yaml",
             "-o", "/dev/null"], check=True)
        with open(f"{directory}/remarks.yaml", encoding="utf-8") as file:
            return file.read().split("--- !")[1:]


def field(remark, name):
    match = re.search(rf"\b{name}: +'?(-?\d+)", remark)
    return match and int(match[1])


def count(found):
    casts = [field(each, "Bytes") for each in found if "mpt.autocast.cast-inserted" in each]
    return {"CastsAdded": len(casts), "BytesAdded": sum(casts),
            "LowOpsAdded": sum(each.startswith("Passed") for each in found)}


def main():
    mpt_opt, graph, options = sys.argv[1:]
    with open(graph, encoding="utf-8") as file:
        lines = file.readlines()
    base = remarks(mpt_opt, lines, options)
    before = count(base)
    checked = 0
    for remark in base:
        if "mpt.autocast.denied" not in remark or field(remark, "CastsAdded") is None:
            continue
        line = field(remark, "Line") - 1
        changed = list(lines)
        changed[line] = lines[line].replace("{node =", '{mpt.precision = "low", node =', 1)
        assert changed[line] != lines[line], lines[line]
        after = count(remarks(mpt_opt, changed, options))
        for name, number in after.items():
            said = field(remark, name)
            if said != number - before[name]:
                sys.exit(f"{lines[line]}: {name}: {said} said, {number - before[name]} found")
        checked += 1
    print(f"{checked} answers are true")


if __name__ == "__main__":
    main()
