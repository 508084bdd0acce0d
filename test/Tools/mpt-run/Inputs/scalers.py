"""The loss scales of eight libraries, written after their sources, in f32.

Each has `scale` and `update(found_inf)`. As a program it checks mpt-run:
    scalers.py PRESET METRICS INIT INTERVAL HYSTERESIS MIN MAX
with the originals' own default numbers instead:
    scalers.py --defaults PRESET METRICS
or the classes themselves against what is installed:
    scalers.py --originals torch|keras|jmp|tf|deepspeed
"""

import json
import sys

import numpy

f32 = numpy.float32
numpy.seterr(over="ignore")


class Torch:
    """torch.amp.GradScaler: aten/src/ATen/native/cuda/AmpKernels.cu."""

    def __init__(self, init, interval, **_):
        self.scale, self.interval, self.tracker = f32(init), interval, 0

    def update(self, found_inf):
        if found_inf:
            self.scale, self.tracker = self.scale * f32(0.5), 0
        elif self.tracker + 1 == self.interval:
            grown = self.scale * f32(2)
            if numpy.isfinite(grown):
                self.scale = grown
            self.tracker = 0
        else:
            self.tracker += 1


class TF:
    """tf_keras mixed_precision's _DynamicLossScaleState."""

    def __init__(self, init, interval, **_):
        self.scale, self.growth_steps, self.counter = f32(init), interval, 0

    def update(self, found_inf):
        if found_inf:
            self.counter = 0
            self.scale = max(self.scale / f32(2), f32(1))
        elif self.counter + 1 >= self.growth_steps:
            if numpy.isfinite(self.scale * f32(2)):
                self.scale = self.scale * f32(2)
            self.counter = 0
        else:
            self.counter += 1


class Keras:
    """keras 3's LossScaleOptimizer."""

    def __init__(self, init, interval, **_):
        self.scale, self.growth_steps, self.step_counter = f32(init), interval, 0

    def update(self, found_inf):
        if found_inf:
            self.step_counter = 0
            self.scale = self.scale / f32(2)
        elif self.step_counter == self.growth_steps - 1:
            self.step_counter = 0
            self.scale = self.scale * f32(2)
        else:
            self.step_counter += 1


class Apex:
    """apex.amp.scaler.LossScaler, min_loss_scale None."""

    def __init__(self, init, interval, maximum, **_):
        self.scale, self.window, self.unskipped = f32(init), interval, 0
        self.max_loss_scale = maximum

    def update(self, found_inf):
        if found_inf:
            self.scale = self.scale / f32(2)
            self.unskipped = 0
        else:
            self.unskipped += 1
        if self.unskipped == self.window:
            self.scale = min(f32(self.max_loss_scale), self.scale * f32(2))
            self.unskipped = 0


class Megatron:
    """megatron.core.optimizer.grad_scaler.DynamicGradScaler."""

    def __init__(self, init, interval, hysteresis, minimum, **_):
        self.scale, self.interval, self.minimum = f32(init), interval, f32(minimum)
        self.hysteresis = self.hysteresis_tracker = hysteresis
        self.growth_tracker = 0

    def update(self, found_inf):
        if found_inf:
            self.growth_tracker = 0
            self.hysteresis_tracker -= 1
            if self.hysteresis_tracker <= 0:
                self.scale = max(self.scale * f32(0.5), self.minimum)
        else:
            self.growth_tracker += 1
            if self.growth_tracker == self.interval:
                self.growth_tracker = 0
                self.hysteresis_tracker = self.hysteresis
                self.scale = self.scale * f32(2)


class DeepSpeed:
    """deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler up to version 0.17."""

    consecutive = False

    def __init__(self, init, interval, hysteresis, minimum, **_):
        self.scale, self.window, self.minimum = f32(init), interval, f32(minimum)
        self.delayed_shift = self.cur_hysteresis = hysteresis
        self.cur_iter, self.last_overflow_iter = 0, -1

    def is_stable(self, steps):
        return steps % self.window == 0

    def update(self, found_inf):
        if found_inf:
            if self.delayed_shift == 1 or self.cur_hysteresis == 1:
                self.scale = max(self.scale / f32(2), self.minimum)
            else:
                self.cur_hysteresis -= 1
            self.last_overflow_iter = self.cur_iter
        else:
            if self.consecutive:
                self.cur_hysteresis = self.delayed_shift
            if self.is_stable(self.cur_iter - self.last_overflow_iter):
                if not self.consecutive:
                    self.cur_hysteresis = self.delayed_shift
                self.scale = self.scale * f32(2)
        self.cur_iter += 1


class DeepSpeedConsecutive(DeepSpeed):
    consecutive = True


class DeepSpeed18(DeepSpeed):
    """The same since version 0.18."""

    def is_stable(self, steps):
        return steps > 1 and (steps - 1) % self.window == 0


class DeepSpeed18Consecutive(DeepSpeed18):
    consecutive = True


class Jmp:
    """jmp.DynamicLossScale."""

    def __init__(self, init, interval, minimum, **_):
        self.scale, self.period, self.counter = f32(init), interval, 0
        self.minimum = f32(minimum)

    def update(self, found_inf):
        if not found_inf:
            if self.counter == self.period - 1 and numpy.isfinite(self.scale * f32(2)):
                self.scale = self.scale * f32(2)
        else:
            self.scale = max(self.minimum, self.scale / f32(2))
        self.counter = ((self.counter + 1) % self.period) * (not found_inf)


class Paddle:
    """paddle/phi/kernels/impl/amp_kernel_impl.h, Update."""

    def __init__(self, init, interval, hysteresis, **_):
        self.scale, self.incr_every, self.decr_every = f32(init), interval, hysteresis
        self.good = self.bad = 0

    def update(self, found_inf):
        if found_inf:
            self.good = 0
            self.bad += 1
            if self.bad == self.decr_every:
                self.bad = 0
                self.scale = max(self.scale * f32(0.5), f32(1))
        else:
            self.bad = 0
            self.good += 1
            if self.good == self.incr_every:
                self.good = 0
                if numpy.isfinite(self.scale * f32(2)):
                    self.scale = self.scale * f32(2)


PRESETS = {"torch": Torch, "tf": TF, "keras": Keras, "apex": Apex,
           "megatron": Megatron, "deepspeed": DeepSpeed,
           "deepspeed-consecutive": DeepSpeedConsecutive, "deepspeed-0.18": DeepSpeed18,
           "deepspeed-0.18-consecutive": DeepSpeed18Consecutive, "jmp": Jmp, "paddle": Paddle}


# First scale, good steps before growth, bad steps before the fall, floor, ceiling.
DEFAULTS = {
    # torch.amp.GradScaler(init_scale=2.0**16, growth_interval=2000)
    "torch": (2**16, 2000, 1, 0, 0),
    # tf.mixed_precision's DynamicLossScale(2**15, increment_period=2000)
    "tf": (2**15, 2000, 1, 1, 0),
    # keras LossScaleOptimizer(initial_scale=32768.0, dynamic_growth_steps=2000)
    "keras": (2**15, 2000, 1, 0, 0),
    # apex LossScaler(init_scale=2.**16, scale_window=2000, max_loss_scale=2.**24)
    "apex": (2**16, 2000, 1, 0, 2**24),
    # Megatron-LM --initial-loss-scale 2**32 --loss-scale-window 1000 --hysteresis 2
    # --min-loss-scale 1.0
    "megatron": (2**32, 1000, 2, 1, 0),
    # DeepSpeed's "fp16": initial_scale_power 16, loss_scale_window 1000, hysteresis 2,
    # min_loss_scale 1
    "deepspeed": (2**16, 1000, 2, 1, 0),
    "deepspeed-consecutive": (2**16, 1000, 2, 1, 0),
    "deepspeed-0.18": (2**16, 1000, 2, 1, 0),
    "deepspeed-0.18-consecutive": (2**16, 1000, 2, 1, 0),
    # jmp.DynamicLossScale(2**15 as its README has it, period=2000, min_loss_scale=1)
    "jmp": (2**15, 2000, 1, 1, 0),
    # paddle.amp.GradScaler(init_loss_scaling=65536.0, incr_every_n_steps=2000,
    # decr_every_n_nan_or_inf=1)
    "paddle": (2**16, 2000, 1, 1, 0),
}


def check_defaults(preset, metrics):
    """Bad steps at first and late, and two growths between."""
    steps = follow(preset, metrics, *DEFAULTS[preset])
    moves = [b / a for a, b in zip(steps, steps[1:]) if a != b]
    assert moves.count(2) >= 2 and moves.count(0.5) >= 2, (preset, moves)
    print(preset, "equal by default")


def check(preset, metrics, *numbers):
    steps = follow(preset, metrics, *map(float, numbers), mixed=True)
    print(preset, "equal over", len(steps), "steps")


def follow(preset, metrics, init, interval, hysteresis, minimum, maximum, mixed=False):
    """The scales after all steps. `mixed`: bad steps of all kinds come often."""
    scaler = PRESETS[preset](init=init, interval=int(interval), minimum=minimum,
                             maximum=maximum, hysteresis=int(hysteresis))
    steps = [json.loads(line) for line in open(metrics)]
    steps = [step for step in steps if "loss" in step]
    skipped, moved, kinds, scales = 0, 0, set(), []
    for number, step in enumerate(steps, 1):
        found_inf, before = bool(step["found_inf"]), scaler.scale
        loss = float(step["loss"])
        kinds.add("nan" if numpy.isnan(loss) else "finite" if numpy.isfinite(loss) else "inf")
        assert bool(step["did_step"]) != found_inf
        scaler.update(found_inf)
        skipped += found_inf
        moved += scaler.scale != before
        found = f32(step["loss_scale"])  # also "Infinity"
        assert found == scaler.scale, (preset, number, found, scaler.scale)
        scales.append(float(found))
        for name, at in (("at_min", minimum and scaler.scale <= minimum),
                         ("at_max", maximum and scaler.scale >= maximum)):
            if "loss_scale." + name in step:
                assert bool(step["loss_scale." + name]) == bool(at), (number, name)
    if mixed:
        assert skipped > len(steps) // 20 and moved > 3, (skipped, moved)
        assert kinds == {"nan", "inf", "finite"}, kinds
    return scales


def check_original_defaults(name):
    """The row of DEFAULTS, and factors of 2, against what is installed."""
    if name == "torch":
        import torch
        state = torch.amp.GradScaler("cpu").state_dict()
        found = state["scale"], state["growth_interval"]
        factors = state["growth_factor"], 1 / state["backoff_factor"]
    elif name == "keras":
        import keras
        scaler = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.0))
        found, factors = (scaler.initial_scale, scaler.dynamic_growth_steps), (2,)
    elif name == "jmp":
        import jax
        import jmp
        # The first scale has no default.
        scaler = jmp.DynamicLossScale(jax.numpy.float32(DEFAULTS[name][0]))
        found, factors = (DEFAULTS[name][0], int(scaler.period)), (int(scaler.factor),)
        assert float(scaler.min_loss_scale) == DEFAULTS[name][3], scaler
    else:
        return
    assert found == DEFAULTS[name][:2] and set(factors) == {2}, (name, found, factors)


def compare(name):
    """The class `name` against the installed original, over random patterns of steps
    with gradients that are finite, infinite and NaN."""
    random = numpy.random.default_rng(0)

    def gradient(found_inf):
        return float(random.choice([numpy.inf, -numpy.inf, numpy.nan])) if found_inf else 1.0

    check_original_defaults(name)
    for case in range(20 if name == "torch" else 4):
        interval, init = int(random.integers(1, 5)), 2.0 ** int(random.integers(0, 127))
        share = random.choice([0.05, 0.3, 0.6])
        preset, hysteresis = name, 1
        if name == "deepspeed":
            import deepspeed
            # Its scale is f64, which does not become infinite where f32 does: growth is
            # rarer than falls.
            init, share, hysteresis = 2.0 ** int(random.integers(0, 20)), 0.5, 1 + case
            interval += 2
            if tuple(map(int, deepspeed.__version__.split(".")[:2])) >= (0, 18):
                preset += "-0.18"
            if case % 2:
                preset += "-consecutive"
        mine = PRESETS[preset](init=init, interval=interval, minimum=1.0, maximum=0.0,
                               hysteresis=hysteresis)
        if name == "torch":
            import torch
            weight = torch.ones(1, requires_grad=True)
            optimizer = torch.optim.SGD([weight], lr=0.0)
            theirs = torch.amp.GradScaler("cpu", init_scale=init, growth_interval=interval)
            theirs.scale(torch.ones(()))

            def update(found_inf):
                weight.grad = torch.full((1,), gradient(found_inf))
                theirs.step(optimizer)
                theirs.update()
                return theirs.get_scale()
        elif name == "jmp":
            import jax
            import jmp
            state = [jmp.DynamicLossScale(jax.numpy.float32(init), period=interval,
                                          factor=2,
                                          min_loss_scale=jax.numpy.float32(1))]

            def update(found_inf):
                state[0] = state[0].adjust(jax.numpy.array(not found_inf))
                return float(state[0].loss_scale)
        elif name == "deepspeed":
            from deepspeed.runtime.fp16.loss_scaler import DynamicLossScaler
            theirs = DynamicLossScaler(
                init_scale=init, scale_window=interval, min_scale=1.0, delayed_shift=hysteresis,
                consecutive_hysteresis=bool(case % 2), raise_error_at_min_scale=False)

            def update(found_inf):
                theirs.update_scale(found_inf)
                return theirs.loss_scale
        elif name == "tf":
            import tensorflow
            theirs = tensorflow.compat.v1.mixed_precision.DynamicLossScale(init, interval)

            def update(found_inf):
                theirs.update([tensorflow.constant([1.0, gradient(found_inf)])])
                return float(theirs())
        else:
            import keras
            variable = keras.Variable(numpy.ones(1, numpy.float32))
            theirs = keras.optimizers.LossScaleOptimizer(
                keras.optimizers.SGD(0.0), initial_scale=init,
                dynamic_growth_steps=interval)
            theirs.build([variable])

            def update(found_inf):
                theirs.apply([keras.ops.convert_to_tensor(
                    numpy.full(1, gradient(found_inf), numpy.float32))])
                return float(keras.ops.convert_to_numpy(theirs.dynamic_scale))
        for step in range(1000):
            found_inf = bool(random.random() < share)
            mine.update(found_inf)
            found = update(found_inf)
            assert f32(found) == mine.scale, (case, step, found, mine.scale)
    print(name, "equals the original")


if __name__ == "__main__":
    if sys.argv[1] == "--originals":
        compare(sys.argv[2])
    elif sys.argv[1] == "--defaults":
        check_defaults(*sys.argv[2:])
    else:
        check(*sys.argv[1:])
