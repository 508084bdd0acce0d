"""Steps of several micro-batches: accumulate.py MPT_RUN, in accumulate.test's directory."""

import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../Reference/Inputs"))
from storage import load, save  # noqa: E402

UNIT = 2.0**-24


def run(model, data, *options, steps=1, lr=1.0):
    command = [sys.argv[1], model, f"--steps={steps}", "--checkpoint=s.safetensors", "--metrics=m.jsonl",
               "--progress=none", "--optimizer=sgd", f"--lr={lr}"]
    for name in data:
        command += ["--data", f"{name}={name}.npy"]
    subprocess.run(command + list(options), check=True, stdout=subprocess.DEVNULL)
    return load("s.safetensors"), [json.loads(line) for line in open("m.jsonl")]


def check_whole_batch():
    x, t = np.load("x.npy").astype(float), np.load("t.npy").astype(float)
    rows, columns = x.shape
    start, _ = run("mean.mlir", ["x", "t"], lr=0)
    w = start["w"]
    exact = w - 2 / rows * x.T @ (x @ w - t)
    # A product of `columns` terms, the difference, a sum of `rows` terms, its division
    # and the update: to first order each adds a unit per term of the magnitudes.
    magnitudes = np.abs(w) + 2 / rows * np.abs(x).T @ (np.abs(x) @ np.abs(w) + np.abs(t))
    bound = (rows + columns + 12) * UNIT * magnitudes
    for engine in "cpu", "reference":
        for parts in 1, 2, 3, 4, 24:
            state, lines = run("mean.mlir", ["x", "t"], f"--accumulate={parts}", f"--engine={engine}")
            assert np.all(np.abs(state["w"] - exact) <= bound), (engine, parts)
            loss = np.mean((x @ w - t) ** 2)
            scale = np.mean((np.abs(x) @ np.abs(w) + np.abs(t)) ** 2)
            assert abs(lines[0]["loss"] - loss) <= 2 * (rows + columns + 12) * UNIT * scale
            assert state["step"] == 1 and state["attempt"] == 1
    # With --batch a step takes as many rows as without micro-batches, in the same order.
    a, _ = run("mean.mlir", ["x", "t"], "--batch=8", steps=5, lr=0.1)
    b, _ = run("mean.mlir", ["x", "t"], "--batch=8", "--accumulate=4", steps=5, lr=0.1)
    assert np.all(np.abs(a["w"] - b["w"]) <= 5 * bound)
    print("whole batch: equal within rounding")


def check_257():
    for type in "bf16", "f16":
        for engine in "cpu", "reference":
            for more in [], ["--precision=" + type, "--loss-scale=static init-scale=8"]:
                state, _ = run(type + ".mlir", ["two"], "--accumulate=2", f"--engine={engine}", "--master-weights=f32", *more, lr=2.0)
                assert state["w"] == [-257], (type, engine, more, state["w"])
    print("257: exact")


def check_dropout():
    def draw(attempt, parts):
        save("i.safetensors", {"attempt": ("i64", np.array(attempt))})
        return run("dropout.mlir", ["ones"], f"--accumulate={parts}", f"--batch={parts}", "--seed=5", "--init=i.safetensors")[0]

    single = [draw(attempt, 1)["w"] for attempt in (6, 7)]
    both = draw(3, 2)
    assert not np.array_equal(*single)
    assert np.array_equal(both["w"], (single[0] + single[1]) / 2)
    assert both["attempt"] == 4 and both["step"] == 1
    print("dropout: draws of their own")


def check_statistics():
    # A batch of all rows keeps the file's order: two steps on the halves.
    x, t = np.load("x.npy"), np.load("t.npy")
    both, _ = run("norm.mlir", ["x", "t"], "--accumulate=2", lr=0)
    for part in range(2):
        rows = slice(12 * part, 12 * part + 12)
        np.save("x.npy", x[rows])
        np.save("t.npy", t[rows])
        more = ["--init=n.safetensors"] if part else []
        one, _ = run("norm.mlir", ["x", "t"], *more, lr=0)
        os.replace("s.safetensors", "n.safetensors")
    np.save("x.npy", x)
    np.save("t.npy", t)
    for name in "mean", "var":
        assert np.array_equal(one[name], both[name]), name
        assert not np.array_equal(one[name], np.zeros(5)), name
    print("statistics: one micro-batch after the other")


def check_skip():
    for parts in 1, 2:
        state, lines = run("bad.mlir", ["bad"], f"--accumulate={parts}", "--loss-scale=dynamic init-scale=4", steps=3)
        assert [line["found_inf"] for line in lines] == [True] * 3
        assert [line["did_step"] for line in lines] == [False] * 3
        assert state["w"] == [1] and state["largest"] == 0 and state["step"] == 0
        assert state["attempt"] == 3 and state["loss_scale"] == 0.5
    print("skip: one bad micro-batch keeps all")


def check_shared():
    state, _ = run("shared.mlir", ["table", "two"], "--accumulate=2")
    assert state["w"] == [-5 * 257 / 2]
    print("shared: read whole")


check_whole_batch()
check_257()
check_dropout()
check_statistics()
check_skip()
check_shared()
