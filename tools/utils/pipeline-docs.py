"""Makes docs/Pipelines.md from what mpt-opt knows.

    pipeline-docs.py build/bin/mpt-opt > docs/Pipelines.md

A test compares the page with what it prints.
"""
import re
import subprocess
import sys

HEAD = """\
# Pipelines

A pipeline is a list of passes under one name, with options for all of them. Use it like a pass:

```sh
mpt-opt model.mlir --mpt-mixed-precision="type=f16 optimizer=adam"
```

prints the training step of a forward function. [Autodiff](Autodiff.md), [Policies](Policies.md) and
[Architecture](Architecture.md) tell what the pipelines are for. `--dump-pass-pipeline` prints
the passes of a pipeline with the options that they get. This page is made from the program by
`tools/utils/pipeline-docs.py`.
"""


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def find_passes(opt, pipeline):
    """The passes that run by default, from one line each of what mpt-opt dumps."""
    dump = run(opt, f"--{pipeline}", "--dump-pass-pipeline").stderr
    return re.findall(r"^ +([a-z][a-z0-9-]*)(?:\{.*\})?,?$", dump, re.MULTILINE)


def main():
    opt = sys.argv[1]
    lines = run(opt, "--help").stdout.splitlines()
    indents = [len(line) - len(line.lstrip()) for line in lines]
    start = next(i for i, line in enumerate(lines) if line.strip() == "Pass Pipelines:")
    page = [HEAD]
    for line, indent in zip(lines[start + 1:], indents[start + 1:]):
        if indent <= indents[start]:
            break
        name, text = re.match(r" *--(\S+) +- +(.*)", line).groups()
        if indent == indents[start] + 2:
            passes = ", ".join(f"`{each}`" for each in find_passes(opt, name))
            page += ["", f"## {name}", "", f"{text}. By default it runs {passes}."]
            continue
        if not page[-1].startswith("|"):
            page += ["", "| option | meaning |", "| --- | --- |"]
        option, _, kind = name.partition("=")
        kind = {"": "true or false", "<long>": "integer"}.get(kind, kind.strip("<>"))
        page.append(f"| `{option}` ({kind}) | {text} |")
    print("\n".join(page).replace("\n\n\n", "\n\n"))


main()
