"""The loss and the gradient of cross-entropy in one compiled step, against NumPy in f64.

  check_cross_entropy.py MPT_RUN WORK_DIRECTORY

With u = 2^-24 and t = x - max, e^t is off by u (|t| + 2) of it, or flushed to 0 below 2^-126.
A sum of V of these in 16 lanes adds u (V / 16 + 5), its reciprocal, the product with it, the
difference from the label and the two factors u each.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from storage import TYPES, finite, load, replace, save, spell

U = 2.0**-24
STEP = """func.func @step(
{arguments})
    -> ({results}) {{
{body}
  return {returned}
}}
"""


def cases():
    rng = np.random.default_rng(0)
    for type in ("f32", "bf16", "f16"):
        largest = 6e4 if type == "f16" else 1e5
        for rows, classes in (3, 50304), (5, 8192), (2, 30522), (3, 5), (4, 17):
            x = rng.standard_normal((rows, classes)) * 3
            t = rng.integers(0, classes, rows)
            for ignored, smoothing, reduction in (None, 0.0, "mean"), (-100, 0.0, "mean"), (-100, 0.1, "sum"):
                labels = t.copy()
                if ignored is not None:
                    labels[-1] = ignored
                yield type, x, labels, ignored, smoothing, reduction
        # Logits of which most have no probability, and large ones.
        steep = -np.linspace(0, 300, 4096)[None].repeat(3, 0)
        yield type, steep, np.array([0, 100, 4000]), None, 0.0, "mean"
        yield type, steep + largest / 2, np.array([0, 100, 4000]), -100, 0.1, "mean"
        wide = rng.uniform(-largest, largest, (3, 4096))
        yield type, wide, np.array([1, 2, 3]), None, 0.0, "sum"
        # Masked classes; a row without any is NaN, as in PyTorch.
        masked = rng.standard_normal((3, 9000))
        masked[:, 100:5000] = -np.inf
        masked[2] = -np.inf
        yield type, masked, np.array([1, 6000, 3]), None, 0.0, "mean"
        yield type, masked, np.array([1, 6000, -100]), -100, 0.0, "sum"
        # No row counts: the mean of none is NaN, its gradient 0.
        yield type, rng.standard_normal((2, 5000)), np.array([-100, -100]), -100, 0.0, "mean"


def expect(x, labels, ignored, smoothing, reduction, dloss):
    """(loss, its bound, gradient, its bound), without the last rounding."""
    rows, classes = x.shape
    counts = np.ones(rows, bool) if ignored is None else labels != ignored
    with np.errstate(all="ignore"):
        top = x.max(-1, keepdims=True)
        t = x - top
        e = np.exp(t)
        s = e.sum(-1, keepdims=True)
        size = np.where(e > 0, np.abs(t), 0.0)
        of_sum = (e * (size + 2)).sum(-1, keepdims=True) / s + classes / 16 + 5
        target = np.full_like(x, smoothing / classes)
        target[np.arange(rows), np.where(counts, labels, 0)] += 1 - smoothing
        p = e / s
        factor = np.float64(dloss) / (counts.sum() if reduction == "mean" else 1)
        want = (p - target) * factor
        error = U * abs(factor) * (p * (size + 4 + of_sum) + 4 * np.abs(p - target)) + abs(factor) * 2.0**-125
        lse = np.log(s) + top
        hit = x[np.arange(rows), np.where(counts, labels, 0)][:, None]
        mean = x.mean(-1, keepdims=True) if smoothing else 0.0
        loss = lse - (1 - smoothing) * hit - smoothing * mean
        spread = np.abs(x).mean(-1, keepdims=True) if smoothing else 0.0
        off = U * (of_sum + 4 * (np.abs(lse) + np.abs(top) + np.abs(hit)) + smoothing * (classes / 16 + 9) * spread)
        weight = counts[:, None] / (counts.sum() if reduction == "mean" else 1)
        rest = np.where(counts[:, None], loss * weight, 0.0)
        total = rest.sum()
        if reduction == "mean" and not counts.any():
            total = np.nan
        bound = np.where(counts[:, None], off * weight, 0.0).sum() + (rows + 4) * U * np.abs(rest).sum()
    want[~counts], error[~counts] = 0.0, 0.0
    return total, bound, want, error


def main(mpt_run, work):
    work = Path(work)
    work.mkdir(parents=True, exist_ok=True)
    arguments, results, body, names, wanted, state = [], [], [], [], [], {}
    for n, (type, x, labels, ignored, smoothing, reduction) in enumerate(cases()):
        x = TYPES[type].round(x)
        dloss = 1.5
        tensor, rows = spell(type, x.shape), spell("i32", labels.shape)
        statistic = spell("f32", labels.shape)
        values = {"x": (type, x), "t": ("i32", labels), "d": ("f32", np.array(dloss)),
                  "l": ("f32", np.array(0.0)), "g": (type, np.zeros(x.shape))}
        for name, (kind, array) in values.items():
            state[f"c{n}{name}"] = (kind, array)
            arguments.append(f'    %c{n}{name}: {spell(kind, array.shape)} '
                             f'{{mpt.name = "c{n}{name}", mpt.role = "optimizer_state"}}')
        attributes = f"reduction = #mpt.loss_reduction<{reduction}>, label_smoothing = {smoothing} : f64"
        if ignored is not None:
            attributes += f", ignore_index = {ignored} : i64"
        body += [f"  %loss{n}, %lse{n} = mpt.cross_entropy %c{n}x, %c{n}t {{{attributes}}} "
                 f": ({tensor}, {rows}) -> (tensor<f32>, {statistic})",
                 f"  %grad{n} = mpt.cross_entropy_grad %c{n}d, %c{n}x, %c{n}t, %lse{n} {{{attributes}}} "
                 f": (tensor<f32>, {tensor}, {rows}, {statistic}) -> {tensor}"]
        for value, name, kind in (f"%loss{n}", "l", "tensor<f32>"), (f"%grad{n}", "g", tensor):
            results.append(f'{kind} {{mpt.name = "new_c{n}{name}", mpt.updates = "c{n}{name}"}}')
            names.append((value, kind))
        wanted.append((type, x.shape, (ignored, smoothing, reduction),
                       expect(x, labels, ignored, smoothing, reduction, dloss)))
    body.append("  %zero = mpt.constant dense<0.0> : tensor<f32>")
    results.append('tensor<f32> {mpt.name = "loss"}')
    names.append(("%zero", "tensor<f32>"))
    (work / "step.mlir").write_text(STEP.format(
        arguments=",\n".join(arguments), results=", ".join(results), body="\n".join(body),
        returned=", ".join(v for v, _ in names) + " : " + ", ".join(k for _, k in names)))
    # First values are finite; what is not comes by a checkpoint.
    save(work / "init.safetensors", {name: (type, finite(type, array))
                                     for name, (type, array) in state.items()})

    def run(*options):
        subprocess.run([mpt_run, "step.mlir", *options, "--progress=none"], cwd=work, check=True,
                       stdout=subprocess.DEVNULL)

    run("--init=init.safetensors", "--steps=1", "--checkpoint=first.safetensors")
    replace(work / "first.safetensors", state)
    for threads in (1, 3):
        run("--resume=first.safetensors", "--steps=2", f"--threads={threads}", f"--checkpoint=out{threads}.safetensors")
    found, again = (load(work / f"out{threads}.safetensors") for threads in (1, 3))
    wrong, worst = 0, 0.0
    for n, (type, shape, options, (total, bound, want, error)) in enumerate(wanted):
        loss, gradient = found[f"c{n}l"], found[f"c{n}g"]
        known = np.isfinite(want)
        allowed = error + 0.5 * TYPES[type].ulp(np.where(known, want, 0.0)) * (1 + 2.0**-20)
        near = np.abs(np.where(known, gradient - want, 0.0)) <= np.where(known, allowed, 0.0)
        good = np.where(known, near, np.isnan(gradient)).all()
        good &= np.isnan(loss) if np.isnan(total) else abs(loss - total) <= bound
        if type == "f32":
            with np.errstate(all="ignore"):
                worst = max(worst, np.nanmax(np.where(known & (allowed > 0), np.abs(gradient - want) / allowed, 0)))
        for name in "lg":
            good &= found[f"c{n}{name}"].tobytes() == again[f"c{n}{name}"].tobytes()
        if not good:
            wrong += 1
            print(type, shape, options, "loss", loss, "want", total, "+-", bound,
                  "worst gradient", np.nanmax(np.abs(gradient - want)))
    print(f"{len(wanted)} cases, {wrong} wrong; f32 gradients miss by at most {worst:.2f} of their bound")


if __name__ == "__main__":
    main(*sys.argv[1:])
