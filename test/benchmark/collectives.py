"""How long exchanges between processes of this machine take, as a link of --mpt-scale-report.

    collectives.py BUILD_DIR [--ranks 2,4] [--elements 1024,65536,1048576,4194304] [--steps 20]
                   [--rounds 1] [--json FILE]

Runs programs of one all_reduce each (f32) under mpirun, and takes the least mean of all rounds, so
that other work on the machine counts less. Least squares of the relative error then fit a latency
and a bandwidth: a segment of 2^18 elements is two phases, in each of which a rank sends
(n - 1) / n of it. Prints each measurement when it is there, then what the fit gives, and the link;
`--json` writes the same. Needs numpy and mpirun.
"""

import argparse
import json
import os
import subprocess
import tempfile

import numpy as np

PROGRAM = """
mpt_program.program @step attributes {{target = #mpt.target<cpu>, max_threads = 1 : i64,
    arena_bytes = {arena} : i64, state_bytes = {bytes} : i64, output_bytes = 64 : i64}} {{
  %w = mpt_program.buffer <state> 0 {{name = "w", role = #mpt.role<parameter>, init = #mpt.init<zeros>}} : memref<{n}xf32>
  %x = mpt_program.buffer <input> 0 {{name = "x", role = #mpt.role<input>}} : memref<1x4xf32>
  %loss = mpt_program.buffer <output> 0 {{name = "loss"}} : memref<f32>
  %work = mpt_program.buffer <arena> 0 : memref<{arena}xi8>
  mpt_program.all_reduce ins(%w : memref<{n}xf32>) outs(%w : memref<{n}xf32>) workspace(%work : memref<{arena}xi8>)
      {{kind = #mpt.reduce_kind<mean>, ranks = {ranks} : i64}}
  mpt_program.reduce ins(%x : memref<1x4xf32>) outs(%loss : memref<f32>) {{kind = #mpt.reduce_kind<sum>, axes = array<i64: 0, 1>}}
}}
"""
SEGMENT = 1 << 18


def measure(build, directory, ranks, elements, steps, rounds):
    path = os.path.join(directory, f"p{ranks}-{elements}")
    part = -(-min(elements, SEGMENT) // ranks) + 16
    arena = 3 * (4 * ranks * part + 64)
    arena = -(-arena // 64) * 64
    with open(path + ".mlir", "w") as file:
        file.write(PROGRAM.format(n=elements, bytes=4 * elements, arena=arena, ranks=ranks))
    subprocess.run([os.path.join(build, "bin", "mpt-compile"), path + ".mlir", "-o", path + ".so"],
                   check=True)
    least = None
    for _ in range(rounds):
        subprocess.run(
            ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks),
             os.path.join(build, "bin", "mpt-run"), path + ".so", "--data",
             f"x={directory}/x.npy", f"--steps={steps}", "--parallel=data", "--progress=none",
             "--threads=1", f"--profile-json={path}.json"],
            check=True, stdout=subprocess.DEVNULL,
            env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
        with open(path + ".json") as file:
            ms = json.load(file)["exchanges"]["ms"]
        least = ms if least is None else min(least, ms)
    return 1e-3 * least


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--elements", default="1024,65536,1048576,4194304")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        np.save(os.path.join(directory, "x.npy"), np.zeros((16, 4), np.float32))
        for ranks in map(int, args.ranks.split(",")):
            for elements in map(int, args.elements.split(",")):
                seconds = measure(args.build, directory, ranks, elements, args.steps, args.rounds)
                print(f"{ranks} ranks, {elements:,} elements: {1e3 * seconds:.3f} ms", flush=True)
                phases = 2 * -(-elements // SEGMENT)
                sent = 2 * 4 * elements * (ranks - 1) / ranks
                rows.append((ranks, elements, seconds, phases, sent))
    # Relative errors count, or the largest messages would count alone.
    matrix = np.array([[phases / seconds, sent / seconds] for _, _, seconds, phases, sent in rows])
    latency, inverse = np.linalg.lstsq(matrix, np.ones(len(rows)), rcond=None)[0]
    fitted = [phases * latency + sent * inverse for _, _, _, phases, sent in rows]
    print("| ranks | elements | measured ms | fitted ms |\n| ---: | ---: | ---: | ---: |")
    for (ranks, elements, seconds, _, _), fit in zip(rows, fitted):
        print(f"| {ranks} | {elements:,} | {1e3 * seconds:.3f} | {1e3 * fit:.3f} |")
    link = f"{1e-9 / inverse:.3g}:{1e6 * latency:.3g}:0"
    print(f"link={link}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"link": link, "gigabytes_per_second": 1e-9 / inverse,
                       "latency_us": 1e6 * latency,
                       "measured": [{"ranks": ranks, "elements": elements, "ms": 1e3 * seconds,
                                     "fitted_ms": 1e3 * fit}
                                    for (ranks, elements, seconds, _, _), fit
                                    in zip(rows, fitted)]}, file, indent=1)


if __name__ == "__main__":
    main()
