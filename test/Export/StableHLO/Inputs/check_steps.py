"""Trains examples for some steps in XLA, or in IREE, and on MPT's CPU from the same state.

  check_steps.py BUILD [--iree] NAME..

Both read the same data, and each goes on from its own state. scan_lstm is an LSTM of JAX's
lax.scan, whose loops over time, forward and backward, must be loops in StableHLO, too.
"""

import re
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "test/Import/StableHLO/Inputs"))

import programs
import jax

jax.config.update("jax_enable_x64", True)
STEPS = 5


def scan_lstm(length=12):
    """An LSTM's loss in StableHLO."""
    import jax.numpy as jnp

    def loss(params, x, y):
        def cell(state, now):
            h, c = state
            i, f, g, o = jnp.split(now @ params["w"] + h @ params["u"] + params["b"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), h

        start = jnp.zeros((x.shape[0], 16), jnp.float32)
        (h, _), _ = jax.lax.scan(cell, (start, start), x.transpose(1, 0, 2))
        logits = h @ params["head"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

    shapes = {"w": (10, 64), "u": (16, 64), "b": (64,), "head": (16, 10)}
    params = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    return programs.lower(loss, params, np.zeros((4, length, 10), np.float32),
                          np.zeros(4, np.int32))


# Example, options of the pipeline, batch.
CASES = {
    "digits": ("digits", "type=f16 optimizer=adamw", 8),
    "scan_lstm": (scan_lstm, "type=f16 optimizer=adamw clip-norm=1.0", 0),
    "lstm": ("lstm", "type=f16 optimizer=adamw clip-norm=1.0", 2),
    "gpt": ("gpt", "type=bf16 optimizer=adamw master-weights=split16", 2),
    "bert": ("bert", "type=f16 optimizer=adamw", 2),
    "resnet": ("resnet", "type=bf16 optimizer=adamw", 2),
    "unet": ("unet", "type=f16 optimizer=adamw", 2),
}


class IREE:
    """A module of StableHLO that IREE compiles for the CPU."""

    def __init__(self, text):
        import iree.compiler
        import iree.runtime

        binary = iree.compiler.compile_str(
            text, input_type="stablehlo", target_backends=["llvm-cpu"],
            # What a convolution needs of the stack depends on the CPU.
            extra_args=["--iree-llvmcpu-target-cpu=host",
                        "--iree-llvmcpu-stack-allocation-limit=131072"])
        context = iree.runtime.SystemContext(config=iree.runtime.Config("local-task"))
        module = iree.runtime.VmModule.copy_buffer(context.instance, binary)
        context.add_vm_module(module)
        self.main = context.modules[module.name]["main"]

    def __call__(self, *leaves):
        results = self.main(*leaves)
        # One result comes without a list around it.
        results = results if isinstance(results, (list, tuple)) else [results]
        return [np.asarray(result) for result in results]


def make_step(example, options, batch):
    """The step as mpt and as StableHLO."""
    if not isinstance(example, str):
        step = programs.convert(example(), f"--mpt-mixed-precision={options}")
        return step, export(step)
    source = (ROOT / "docs/examples" / example / f"{example}.mlir").read_text()
    # Of the functions the first is the loss.
    source = re.split(r"(?m)^}$", source, maxsplit=1)[0] + "}\n"
    step = programs.run("mpt-opt", source, "-", f"--mpt-specialize=batch={batch}",
                        f"--mpt-mixed-precision={options}")
    return step, export(step)


def export(step):
    return programs.run("mpt-opt", step, "-", "--allow-unregistered-dialect",
                        "--mpt-convert-to-stablehlo=donate=false")


def keeps_loops(options):
    """Two loops, and no more ops for twice the steps of time."""
    short, long = (make_step(lambda n=n: scan_lstm(n), options, 0)[1] for n in (12, 24))
    loops = [text.count('"stablehlo.while"') for text in (short, long)]
    return loops == [2, 2] and short.count(" = ") == long.count(" = ")


def first_values(step, rng):
    """One array for each argument; data is drawn anew by `draw`."""
    signature = re.search(r"func\.func @.*", step)[0].split(") -> ")[0]
    values = {}
    for part in re.split(r"%arg\d+: ", signature)[1:]:
        shape, type = re.match(r"tensor<((?:\d+x)*)(\w+)>", part).groups()
        shape = tuple(map(int, shape.split("x")[:-1]))
        name = re.search(r'mpt\.name = "([^"]*)"', part)[1]
        kind = re.search(r'kind = "(\w+)"', part)
        number = re.search(r"value = ([-+.e\d]+)", part)
        if 'role = "input"' in part or 'role = "target"' in part:
            value = (rng.integers(0, 4, shape) if type.startswith("i")
                     else rng.uniform(0.0, 1.0, shape))
        elif kind is None and 'role = "parameter"' in part:
            value = rng.normal(0.0, 0.3, shape)
        elif kind is None or kind[1] == "zeros":
            value = np.zeros(shape)
        elif kind[1] == "ones":
            value = np.ones(shape)
        elif kind[1] == "constant":
            value = np.full(shape, float(number[1]))
        else:
            value = rng.normal(0.0, 0.1, shape)
        values[name] = np.asarray(value).astype(programs.TYPES[type])
    return values


def train(name, engine):
    example, options, batch = CASES[name]
    step, module = make_step(example, options, batch)
    mine, theirs = programs.Program(step), engine(module)
    values = first_values(step, np.random.default_rng(0))
    states = [dict(values), dict(values)]
    worst, losses = 0.0, [[], []]
    for _ in range(STEPS):
        for state, run, found in zip(states, (mine, theirs), losses):
            results = dict(zip(mine.results, run(*(state[each] for each in mine.arguments))))
            found.append(float(results["loss"]))
            state.update({mine.updates[key]: value for key, value in results.items()
                          if key in mine.updates})
    worst_loss = max(abs(a - b) / abs(a) for a, b in zip(*losses))
    exact = [key for key in mine.updates.values() if key in ("step", "attempt", "loss_scale")]
    same = all(np.array_equal(states[0][key], states[1][key]) for key in exact)
    parameters = [key for key in mine.updates.values()
                  if states[0][key].dtype.kind in "fV" and states[0][key].size > 1]
    change = {key: programs.difference(states[0][key], states[1][key]) for key in parameters}
    key = max(change, key=change.get)
    print(f"{name}: losses {losses[1][0]:.4f} .. {losses[1][-1]:.4f}, differ by {worst_loss:.1e}; "
          f"worst state {key} {change[key]:.1e}; counters {'equal' if same else 'DIFFER'}")
    if name == "scan_lstm" and not keeps_loops(options):
        print(f"{name}: its loops are not two loops of StableHLO")
        return False
    return worst_loss < 2e-3 and same


if __name__ == "__main__":
    build, *names = sys.argv[1:]
    engine = IREE if "--iree" in names else programs.XLA
    programs.use(build)
    passed = [train(name, engine) for name in names if name != "--iree"]
    print(f"{sum(passed)} of {len(passed)} steps train alike")
    sys.exit(not all(passed))
