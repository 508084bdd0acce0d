"""Runs the cells of a notebook, and shows the last value of each: run_notebook.py FILE"""
import ast
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    cells = json.load(file)["cells"]
names = {"__name__": "__main__"}
for cell in cells:
    if cell["cell_type"] != "code":
        continue
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, sys.argv[1], "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), sys.argv[1], "eval"), names)
        print(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
