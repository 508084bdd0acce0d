"""Training graphs from TensorFlow, and what its own mixed-precision pass does to them.

    tf_graphs.py make DIR [MODEL...]
    tf_graphs.py compare --mpt-opt=PATH [--verify] DIR [MODEL...]

make builds each model's loss and gradients (tf_models.py), writes them as
functional `tf` dialect MLIR in generic form, with the graph node's name in the
attribute `node`, to DIR/MODEL.mlir; runs Grappler with nothing but
auto_mixed_precision on ("cuda": the float16 lists on a virtual sm_80 GPU; "bf16":
the oneDNN bfloat16 mode); and writes the figures to DIR/grappler.json. It needs
PyPI's tensorflow (2.21); tensorflow-cpu lacks the GPU kernels that the pass asks
for, and then paints less.

compare runs mpt-opt --mpt-autocast on each graph and prints its figures beside
Grappler's: with the strategy `paint` and TensorFlow's lists, where any difference
of casts or of nodes in low precision is an error, and with `mincut`, where more
bytes cast or fewer FLOPs in low precision are. --verify has TensorFlow's own MLIR
read and verify each result (tensorflow-cpu will do); else it needs nothing but Python.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys

LOW = {"cuda": "f16", "bf16": "bf16"}
# Grappler casts constants as any other value, and looks at no value.
STRATEGIES = {"paint": "policy=tf-{policy}",
              "mincut": "strategy=mincut"}


def make(options):
    import tf_export
    import tf_models

    os.makedirs(options.directory, exist_ok=True)
    path = os.path.join(options.directory, "grappler.json")
    rows = {}
    if os.path.exists(path):
        with open(path) as file:
            rows = json.load(file)
    for name in options.models or tf_models.MODELS:
        try:
            graph = tf_export.Graph.training(name, tf_models.MODELS[name]())
        except ValueError as error:
            sys.exit(f"tf_graphs.py: {error}")
        with open(os.path.join(options.directory, name + ".mlir"), "w") as file:
            file.write(tf_export.to_mlir(graph))
        for mode in LOW:
            row = rows[f"{name}.{mode}"] = tf_export.figures(graph, mode)
            print(f"{name}.{mode}: {row['nodes_before']} nodes, {row['casts_down']} casts down, "
                  f"{row['casts_up']} up, {row['cast_bytes'] / 1e6:.1f} MB, "
                  f"{row['mac_low']} of {row['mac_nodes']} products low, "
                  f"{row['pass_ms']} ms", flush=True)
    with open(path, "w") as file:
        json.dump(rows, file, indent=1)


# --- What a graph's text holds ------------------------------------------------

OPERATION = re.compile(r'\s*(?:(%\w+)(?::\d+)? = )?"([\w.]+)"\(([^)]*)\)')
NODE = re.compile(r'[{ ]node = "([^"]*)"')
TENSOR = re.compile(r"tensor<((?:[\d?]+x)*)(f32|f16|bf16)>")


def value_bytes(tensor):
    shape, element = TENSOR.fullmatch(tensor).groups()
    return (math.prod(int(n) for n in shape.replace("?", "1").split("x")[:-1])
            * {"f32": 4, "f16": 2, "bf16": 2}[element])


def read_graph(text, low):
    """Casts added (those without a `node`) and nodes that read or write `low`."""
    casts, nodes, users = [], set(), {}
    for line in text.splitlines():
        match = OPERATION.match(line)
        if not match or " : (" not in line:
            continue
        result, op, operands = match.groups()
        operands = operands.split(", ") if operands else []
        node = NODE.search(line)
        types = line[line.rindex(" : (") + 4:]
        key = node.group(1) if node else result or op
        for operand in operands:
            users.setdefault(operand, []).append((op, result))
        if op == "tf.Cast" and not node:
            source, destination = types.split(") -> ")
            casts.append({"value": result, "source": operands[0],
                          "direction": "down" if f"{low}>" in destination else "up",
                          "bytes": value_bytes(source) + value_bytes(destination)})
        elif f"x{low}>" in types or f"<{low}>" in types:
            nodes.add(key)

    def ends(value):  # read by nothing but the function's return, at most through Identity
        return all(op == "func.return" or op == "tf.Identity" and all(
            reader == "func.return" for reader, _ in users.get(result, ()))
            for op, result in users.get(value, ()))

    for cast in casts:
        cast["interior"] = not (cast["source"].startswith("%arg") or ends(cast["value"]))
    return casts, nodes


def figures(path, row, mode, options, strategy):
    low = LOW[mode]
    result = subprocess.run(
        [options.mpt_opt, path, "--allow-unregistered-dialect", "--mlir-print-op-generic",
         f"--mpt-autocast=type={low} {STRATEGIES[strategy]} {options.autocast}".format(
             policy={"f16": "fp16", "bf16": "bf16"}[low])],
        stdout=subprocess.PIPE, text=True, check=True)
    if options.verify:
        import tensorflow

        tensorflow.mlir.experimental.run_pass_pipeline(result.stdout, "symbol-dce")
    casts, nodes = read_graph(result.stdout, low)
    return {"casts_down": sum(cast["direction"] == "down" for cast in casts),
            "casts_up": sum(cast["direction"] == "up" for cast in casts),
            "cast_bytes": sum(cast["bytes"] for cast in casts),
            "interior_bytes": sum(cast["bytes"] for cast in casts if cast["interior"]),
            "mac_low_flops": sum(flops for name, flops in row.get("macs", {}).items() if name in nodes),
            "low_nodes": nodes}


def compare(options):
    with open(os.path.join(options.directory, "grappler.json")) as file:
        rows = json.load(file)
    errors = 0
    print("graph              strategy  down   up       MB  (inner)  low GFLOP  low nodes")
    for key, row in rows.items():
        name, mode = key.rsplit(".", 1)
        if options.models and name not in options.models:
            continue
        path = os.path.join(options.directory, name + ".mlir")
        found = {strategy: figures(path, row, mode, options, strategy)
                 for strategy in STRATEGIES}
        for strategy, line in (("grappler", row), *found.items()):
            print(f"{key:18} {strategy:8} {line['casts_down']:5} {line['casts_up']:4} "
                  f"{line['cast_bytes'] / 1e6:8.1f} {line.get('interior_bytes', 0) / 1e6:8.1f} "
                  f"{line['mac_low_flops'] / 1e9:10.2f} {len(line['low_nodes']):10}")
        paint, mincut = found["paint"], found["mincut"]
        low = set(row["low_nodes"])
        problems = [f"paint leaves in f32: {node}" for node in sorted(low - paint["low_nodes"])]
        problems += [f"paint lowers: {node}" for node in sorted(paint["low_nodes"] - low)]
        problems += [f"paint: {field} {paint[field]}, Grappler's {row[field]}"
                     for field in ("casts_down", "casts_up", "cast_bytes")
                     if paint[field] != row[field]]
        if "macs" in row and mincut["mac_low_flops"] < row["mac_low_flops"]:
            problems.append("mincut: fewer FLOPs in low precision than Grappler's")
        if mincut["cast_bytes"] > row["cast_bytes"]:
            problems.append("mincut: more bytes cast than Grappler's")
        for problem in problems[:options.limit]:
            print(f"  {problem}")
        if len(problems) > options.limit:
            print(f"  ... {len(problems) - options.limit} more")
        errors += len(problems)
    print(f"{errors} difference(s)")
    return 1 if errors else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("make", "compare"):
        command = commands.add_parser(name)
        command.add_argument("directory")
        command.add_argument("models", nargs="*")
        if name == "compare":
            command.add_argument("--mpt-opt", required=True)
            command.add_argument("--autocast", default="", help="more options of the pass")
            command.add_argument("--verify", action="store_true")
            command.add_argument("--limit", type=int, default=10, help="differences printed a row")
    options = parser.parse_args()
    sys.exit(make(options) if options.command == "make" else compare(options))


if __name__ == "__main__":
    main()
