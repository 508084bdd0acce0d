"""Cases of the loss scale, clipping and optimizers, from PyTorch's documentation."""

import numpy as np

from case import INF, NAN, Case, f64

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


def training_cases(random):
    for maker in scale_cases, clip_cases, sgd_cases, adam_cases:
        yield from maker(random)
