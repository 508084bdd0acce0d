"""How long --mpt-autocast takes.

    autocast_time.py --mpt-opt=PATH [--ops 1000,10000,100000,1000000]
    autocast_time.py --mpt-opt=PATH --graphs DIR
    autocast_time.py --mpt-opt=PATH --tensorflow [--ops ...] [--rounds 5] [MODEL...]

Without --graphs: StableHLO chains of products, pointwise ops and a skip
connection, with about that many ops; prints seconds from text to text, those of
the pass, microseconds per op and the peak of memory. With --graphs (made by
tf_graphs.py): the pass on each graph, least of five runs, beside the time that
TensorFlow's Grappler took for the same graph when the figures were made. With
--tensorflow (PyPI's tensorflow): Grappler's pass alone and ours in turns on the same
graphs, chains of that many nodes and the models of tf_models.py that are named ("all"),
ours with the default strategy, with and without MLIR's verifier, which runs after each
pass and which MLIR counts as the pass's time, and with policy=tf-fp16, which makes
Grappler's decisions: the least of the rounds, and the median of their ratios. Grappler,
which verifies nothing, runs in one process, which is warm after the first round, and each
run of ours in a new one.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile

TENSOR = "tensor<64x64xf32>"


def chain(ops):
    lines = [f"func.func @main(%x: {TENSOR}, %w: {TENSOR}) -> {TENSOR} {{"]
    last = skip = "%x"

    def add(name, op, *operands):
        types = ", ".join([TENSOR] * len(operands))
        lines.append(f'  {name} = "stablehlo.{op}"({", ".join(operands)}) : '
                     f"({types}) -> {TENSOR}")
        return name

    for i in range(ops // 5):
        product = add(f"%d{i}", "dot", last, "%w")
        tanh = add(f"%t{i}", "tanh", product)
        last = skip = add(f"%a{i}", "add", add(f"%m{i}", "multiply", tanh, product), skip)
        if i % 2:
            last = add(f"%r{i}", "multiply", add(f"%e{i}", "exponential", last), tanh)
    return "\n".join(lines + [f"  return {last} : {TENSOR}", "}", ""])


def run(mpt_opt, path, options, verify=True):
    """Seconds of the whole and of the pass, and peak bytes of the process."""
    command = [mpt_opt, path, "--allow-unregistered-dialect", f"--mpt-autocast={options}",
               f"--verify-each={int(verify)}", "--mlir-timing", "--mlir-disable-threading",
               "-o", os.devnull]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        report = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(report)
    total = float(re.search(r"Total Execution Time: ([\d.]+)", report)[1])
    own = float(re.search(r"([\d.]+) .*AutocastPass", report)[1])
    return total, own, usage.ru_maxrss * 1024


def beside_tensorflow(options):
    import tf_export
    import tf_models

    names = list(tf_models.MODELS) if options.models == ["all"] else options.models
    makers = [lambda ops=int(ops): tf_export.Graph.chain(ops)
              for ops in (options.ops or "1000,10000,100000").split(",")]
    makers += [lambda name=name: tf_export.Graph.training(name, tf_models.MODELS[name]())
               for name in names]
    for make in makers:
        graph = make()
        nodes = len(graph.graph_def.node)
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(tf_export.to_mlir(graph))
            file.flush()
            rounds = [(tf_export.optimize(graph, "cuda")[1] / 1e3,
                       *(run(options.mpt_opt, file.name, *ours)[1]
                         for ours in (("type=f16",), ("type=f16", False),
                                      ("policy=tf-fp16",))))
                      for _ in range(options.rounds)]
        theirs, *ours = map(min, zip(*rounds))
        print(f"{graph.name:12} {nodes:7} nodes  Grappler {1e6 * theirs / nodes:6.2f} us/node",
              end="")
        for i, (name, least) in enumerate(zip(("MPT", "unverified", "as Grappler"), ours),
                                         1):
            median = statistics.median(each[0] / each[i] for each in rounds)
            print(f"  {name} {1e6 * least / nodes:5.2f} us/node, {theirs / least:5.1f} times "
                  f"(median {median:.1f})", end="")
        print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--ops")
    parser.add_argument("--graphs")
    parser.add_argument("--tensorflow", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    if options.tensorflow:
        return beside_tensorflow(options)
    if options.graphs:
        with open(os.path.join(options.graphs, "grappler.json")) as file:
            rows = json.load(file)
        for key, row in rows.items():
            name, mode = key.rsplit(".", 1)
            if mode != "cuda":
                continue
            path = os.path.join(options.graphs, name + ".mlir")
            own = min(run(options.mpt_opt, path, "type=f16")[1] for _ in range(5))
            nodes = row["nodes_before"]
            print(f"{name:14} {nodes:6} nodes  Grappler {1e3 * row['pass_ms'] / nodes:6.2f} "
                  f"us/node  MPT {1e6 * own / nodes:6.2f} us/node  "
                  f"{row['pass_ms'] / (1e3 * own):5.1f} times")
        return
    for ops in map(int, (options.ops or "1000,10000,100000,1000000").split(",")):
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(chain(ops))
            file.flush()
            total, own, peak = run(options.mpt_opt, file.name, "type=bf16")
        print(f"{ops:8} ops  {total:7.2f} s text to text  {own:6.3f} s autocast  "
              f"{1e6 * own / ops:5.2f} us/op  {peak / 1e9:5.2f} GB", flush=True)


if __name__ == "__main__":
    main()
