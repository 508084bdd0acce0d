"""Cases of the loss scale, clipping and optimizers, from PyTorch's documentation."""

import numpy as np

from case import INF, NAN, Case, f64
from storage import TYPES

YES, NO = ("i1", np.array(1)), ("i1", np.array(0))


def scale_cases(random):
    yield Case("grad_seed", [], [("f32", np.array(1.0))], syntax="")
    loss, scale = random("f16", ()), ("f32", np.array(1024.0))
    yield Case("scale_loss", [loss, scale], [("f32", loss[1] * 1024)])
    # The reciprocal rounds to f32 before it multiplies.
    scale = ("f32", np.array(768.0))
    reciprocal = float(np.float32(1.0) / np.float32(768.0))
    a, b = random("f16", (5,), -999, 999), random("f32", (2, 3), -999, 999)
    outputs = [("f32", a[1] * reciprocal), ("f32", b[1] * reciprocal)]
    yield Case("unscale", [a, b, scale], outputs + [YES])
    for bad in (NAN, INF, -INF):
        a = ("f16", np.array([1.0, bad]))
        outputs = [("f32", a[1] * reciprocal), ("f32", b[1] * reciprocal)]
        yield Case("unscale", [a, b, scale], outputs + [NO])
        yield Case("all_finite", [b, a], [NO])
    # A finite gradient whose unscaled value is none.
    a = ("f32", np.array([3e38]))
    yield Case("unscale", [a, ("f32", np.array(0.25))], [("f32", np.array([INF])), NO])
    yield Case("all_finite", [b, random("bf16", ())], [YES])

    def update(scale, tracker, finite, want, attributes=""):
        inputs = [("f32", np.array(scale)), ("i32", np.array(tracker)), YES if finite else NO]
        return Case("update_loss_scale", inputs, [("f32", np.array(want[0])), ("i32", np.array(want[1]))], attributes)

    yield update(1024.0, 5, True, (1024.0, 6))
    yield update(1024.0, 1998, True, (1024.0, 1999))
    yield update(1024.0, 1999, True, (2048.0, 0))
    yield update(1024.0, 1999, False, (512.0, 0))
    yield update(2.0**127, 1999, True, (2.0**127, 0))
    attributes = f"growth_factor = {f64(3)}, backoff_factor = {f64(0.25)}, growth_interval = 2 : i64"
    yield update(8.0, 1, True, (24.0, 0), attributes)
    yield update(8.0, 0, True, (8.0, 1), attributes)
    yield update(8.0, 1, False, (2.0, 0), attributes)
    for flag in (YES, NO):
        for type in ("f32", "bf16", "i64"):
            new, old = random(type, (3,), -9, 9), random(type, (3,), -9, 9)
            yield Case("select_state", [flag, new, old], [new if flag is YES else old])


def clip_cases(random):
    a, b = random("f32", (4, 3)), random("f32", (2,))
    norm = np.sqrt((a[1] ** 2).sum() + (b[1] ** 2).sum())
    for limit in (1.0, 100.0):
        factor = min(1.0, limit / (norm + 1e-6))
        outputs = [("f32", a[1] * factor), ("f32", b[1] * factor), ("f32", norm)]
        yield Case("clip_by_global_norm", [a, b], outputs, f"max_norm = {f64(limit)}", error=32)
    b = ("f32", np.array([NAN, 1.0]))
    outputs = [("f32", np.full((4, 3), NAN)), ("f32", np.full(2, NAN)), ("f32", np.array(NAN))]
    yield Case("clip_by_global_norm", [a, b], outputs, f"max_norm = {f64(1.0)}")


def sgd(p, g, lr, buffer, momentum, dampening, decay, nesterov):
    g = g + decay * p
    if buffer is not None:
        buffer = momentum * buffer + (1 - dampening) * g
        g = g + momentum * buffer if nesterov else buffer
    return p - lr * g, buffer


def sgd_cases(random):
    for type in ("f32", "f64", "bf16"):
        p, g, lr, buffer = random(type, (5,)), random(type, (5,)), (type, np.array(0.125)), random(type, (5,))
        for decay in (0.0, 0.1):
            want, _ = sgd(p[1], g[1], lr[1], None, 0, 0, decay, False)
            attributes = f"weight_decay = {f64(decay)}"
            yield Case("sgd", [p, g, lr], [(type, want)], attributes, "param({}) grad({}) lr({}) {attributes}", error=16 * np.ones(5))
            for nesterov, dampening in (False, 0.0), (False, 0.25), (True, 0.0):
                want, new = sgd(p[1], g[1], lr[1], buffer[1], 0.9, dampening, decay, nesterov)
                more = f", momentum = {f64(0.9)}, dampening = {f64(dampening)}" + (", nesterov" if nesterov else "")
                syntax = "param({}) grad({}) lr({}) momentum({}) {attributes}"
                yield Case("sgd", [p, g, lr, buffer], [(type, want), (type, new)], attributes + more, syntax, error=[16 * np.ones(5)] * 2)
    for flag in (YES, NO):
        p, g, lr, buffer = (random("f32", s) for s in ((5,), (5,), (), (5,)))
        want, new = sgd(p[1], g[1], lr[1], buffer[1], 0.9, 0, 0, False) if flag is YES else (p[1], buffer[1])
        syntax = "param({}) grad({}) lr({}) momentum({}) if({}) {attributes}"
        yield Case("sgd", [p, g, lr, buffer, flag], [("f32", want), ("f32", new)], f"momentum = {f64(0.9)}", syntax, error=[32 * np.ones(5)] * 2)


def adam(p, g, lr, m, v, t, beta1, beta2, eps, decay, decoupled):
    if decoupled:
        p = p - lr * decay * p
    else:
        g = g + decay * p
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
    return p - lr * m_hat / (np.sqrt(v_hat) + eps), m, v


def adam_cases(random):
    for op in ("adam", "adamw"):
        for type, step in ("f32", 1), ("f32", 1000), ("f64", 3), ("bf16", 7):
            for decay, flag in (0.0, None), (0.1, None), (0.1, YES), (0.1, NO):
                p, g, m = (random(type, (5,)) for _ in range(3))
                v, lr = random(type, (5,), 0.1, 2.0), (type, np.array(0.0078125))
                t = ("i64", np.array(step))
                values = adam(p[1], g[1], lr[1], m[1], v[1], step, 0.8, 0.95, 1e-3, decay, op == "adamw")
                if flag is NO:
                    values = p[1], m[1], v[1]
                attributes = f"beta1 = {f64(0.8)}, beta2 = {f64(0.95)}, eps = {f64(1e-3)}, weight_decay = {f64(decay)}"
                syntax = "param({}) grad({}) lr({}) moments({}, {}) step({})" + (" if({})" if flag else "") + " {attributes}"
                inputs = [p, g, lr, m, v, t] + ([flag] if flag else [])
                yield Case(op, inputs, [(type, value) for value in values], attributes, syntax, error=[32 * np.ones(5)] * 3)


def from_bits(bits):
    return np.asarray(bits, np.uint32).view(np.float32).astype(np.float64)


def to_bits(x):
    return np.asarray(x, np.float32).view(np.uint32)


def halves_cases(random):
    for wide, narrow in ("f32", "f16"), ("f32", "bf16"), ("f32", "f32"), ("f64", "f32"):
        s, g = random(wide, (3, 5)), random(narrow, (3, 5))
        yield Case("accumulate", [s, g], [(wide, s[1] + g[1])])
        want = TYPES[wide].round(s[1] + g[1]) / 3
        yield Case("accumulate", [s, g], [(wide, want)], "divisor = 3 : i64", error=3 * np.abs(s[1]) + 3 * np.abs(g[1]))
    # What the types of the gradients cannot hold.
    for narrow in ("f16", "bf16"):
        s, g = ("f32", np.array([256.0, 2048.0])), (narrow, np.array([1.0, 1.0]))
        yield Case("accumulate", [s, g], [("f32", np.array([257.0, 2049.0]))], error=0)

    # Numbers between two bf16, ties, subnormals, both ends and no numbers.
    bits = random.rng.integers(0, 2**32, 300, dtype=np.uint64).astype(np.uint32)
    bits = bits[np.isfinite(from_bits(bits))]
    special = [0x3F808000, 0x3F818000, 0xBF808000, 0x3F807FFF, 0x3F808001, 0, 0x80000000,
               1, 0x8000, 0x7F7FFFFF, 0x7F7F8000, 0x7F800000, 0xFF800000]
    bits = np.concatenate([bits, np.array(special, np.uint32)])
    x = ("f32", from_bits(bits))
    with np.errstate(over="ignore"):
        upper = ((bits + np.uint32(0x8000)) >> 16) << 16
    lower = (bits & 0xFFFF).astype(np.int64)
    lower = np.where(lower >= 0x8000, lower - 0x10000, lower)
    high, low = ("bf16", from_bits(upper)), ("i16", lower)
    yield Case("high_half", [x], [high], error=0)
    yield Case("low_half", [x], [low])
    yield Case("join_halves", [high, low], [x], error=0)
    for name, value in ("high", high), ("low", low):
        assert len(value[1]) == len(bits), name
    bf16 = TYPES["bf16"]
    with np.errstate(invalid="ignore"):
        lost = x[1] - bf16.round(x[1])
    yield Case("rounding_error", [x], [("bf16", lost)], error=0)
    p = random("bf16", (40,))
    c = ("bf16", bf16.round(p[1] * random.rng.uniform(-(2.0**-9), 2.0**-9, 40)))
    yield Case("add_compensation", [p, c], [("f32", p[1] + c[1])])

    # All bits are equally likely, so what is added is a number from 0 to 65535.
    draws = random.rng.integers(0, 65536, len(bits))
    with np.errstate(over="ignore"):
        rounded = from_bits(((bits + draws.astype(np.uint32)) >> 16) << 16)
    rounded = np.where(np.isfinite(x[1]), rounded, x[1])
    signed = np.where(draws >= 0x8000, draws - 0x10000, draws)
    yield Case("stochastic_round", [x, ("i16", signed)], [("bf16", rounded)], error=0)
    # The neighbour further from zero is as near as the mean says: 3/4 of the way.
    y = ("f32", from_bits(np.full(65536, 0x3F80C000)))
    every = np.arange(-32768, 32768)
    far = np.where((every & 0xFFFF) >= 0x4000, 1 + 2.0**-7, 1.0)
    assert far.mean() == y[1][0]
    yield Case("stochastic_round", [y, ("i16", every)], [("bf16", far)], error=0)
    # bf16 numbers stay, whatever is drawn; a number that is none stays none.
    stays = random("bf16", (64,))
    bits = ("i16", random.rng.integers(-32768, 32768, 64))
    yield Case("stochastic_round", [("f32", stays[1]), bits], [stays], error=0)
    none = ("f32", np.array([NAN, INF, -INF, NAN]))
    bits = ("i16", np.array([-1, -1, -1, 0]))
    yield Case("stochastic_round", [none, bits], [("bf16", none[1])])


def training_cases(random):
    for maker in scale_cases, clip_cases, sgd_cases, adam_cases, halves_cases:
        yield from maker(random)
