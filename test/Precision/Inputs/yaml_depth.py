"""yaml_depth.py MPT_OPT: policies and rule tables that nest too deeply for LLVM's reader,
which is recursive, are refused in one line; brackets within quotes are no nesting."""

import pathlib
import subprocess
import sys
import tempfile

MODULE = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"
DEEP = "lists or mappings are nested deeper than 64"
TABLE = "dialect: acme\nrules:\n- {ops: %s, class: allow}\n"
LEVELS = 50000


def nest(opening, inner, closing, levels=LEVELS):
    return opening * levels + inner + closing * levels


TOO_DEEP = {
    "brackets": nest("[", "x", "]"),
    "brackets that stay open": "[" * LEVELS,
    "brackets on lines of their own": nest("[\n ", "x", "]"),
    "brackets after quoted brackets": nest('["]", ', '"x"', "]"),
    "brackets after quoted brackets on lines of their own": nest('["]",\n ', '"x"', "]"),
    "braces": nest("{a: ", "x", "}"),
    "braces after quoted braces": nest('{"}": ', "x", "}"),
    "mappings as keys of flow mappings": nest("{? ", "x", "}"),
    "lists as keys of flow mappings": nest("{? [", "x", "]}"),
    "pairs in lists": nest("[a: ", "x", "]"),
    "65 lists": nest("[", "x", "]", 65),
    "anchors": "".join(f"[&a{i} " for i in range(LEVELS)) + "]" * LEVELS,
    "tags": nest("[!!seq ", "x", "]"),
    "aliases": "[&a x, " + nest("[*a, ", "x", "]") + "]",
}
# These begin a document.
TOO_DEEP_LINES = {
    "lists in lists": "- " * LEVELS + "x\n",
    "keys of keys": "? " * LEVELS + "x\n",
    "mappings by indentation": "".join(" " * i + "a:\n" for i in range(2000)),
    "lists by indentation": "".join(" " * i + "-\n" for i in range(2000)),
    "keys by indentation": "".join(" " * i + "?\n" for i in range(2000)),
    "lists in mappings": "".join("  " * i + "a:\n" + "  " * i + "- b:\n" for i in range(2000)),
    "the second document": "policy: p\n---\n" + "- " * LEVELS + "x\n",
}
# Wide, not deep; what they lack is said by the reader, or nothing.
SHALLOW_TABLES = {
    "quoted brackets": TABLE % ("[" + ", ".join(f'"{i}[", \'{{{i}\'' for i in range(99)) + "]"),
    "64 levels": TABLE % "[exp]" + "keep-if: " + nest("[", "x", "]", 63) + "\n",
    "documents that end": TABLE % "[exp]" + "...\n" * LEVELS,
    "many rules": "dialect: acme\nrules:\n" + "".join(
        f"- {{ops: [op{i}], class: allow}}\n" for i in range(2000)),
    "an error before depth": 'dialect: acme\nrules: ["\n' + "[" * LEVELS,
}
ACCEPTED = {"quoted brackets", "documents that end", "many rules"}


def run(mpt_opt, folder, option, text):
    path = folder / "table.yaml"
    path.write_text(text)
    done = subprocess.run([mpt_opt, "-", f"--mpt-autocast={option}={path} type=f16"],
                          input=MODULE, capture_output=True, text=True)
    return done.returncode, [line for line in done.stderr.splitlines() if "error:" in line]


def main():
    mpt_opt = sys.argv[1]
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = {what: TABLE % text for what, text in TOO_DEEP.items()} | TOO_DEEP_LINES
        for option in ("rules", "policy"):
            for what, text in cases.items():
                status, errors = run(mpt_opt, folder, option, text)
                if status != 1 or len(errors) != 1 or DEEP not in errors[0]:
                    print(f"{option}, {what}: exit code {status}, {errors[:3]}")
                    bad += 1
        for what, text in SHALLOW_TABLES.items():
            status, errors = run(mpt_opt, folder, "rules", text)
            if (status not in (0, 1) or any(DEEP in error for error in errors)
                    or (status == 0) != (what in ACCEPTED)):
                print(f"{what}: exit code {status}, {errors[:3]}")
                bad += 1
    print(f"{2 * len(cases)} deep texts, {len(SHALLOW_TABLES)} shallow ones, {bad} wrong")
    sys.exit(bad != 0)


main()
