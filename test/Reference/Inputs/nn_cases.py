"""Cases of reductions, softmax, norms and losses."""

import numpy as np

from case import INF, NAN, Case, f64, i64s, relaxed

TYPES = ("f64", "f32", "bf16", "f16")


def reduce_cases(random):
    functions = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
    for name, f in functions.items():
        kind = f"kind = #mpt.reduce_kind<{name}>"
        for type in TYPES:
            x = random(type, (3, 4, 5))
            for axes in (0,), (2,), (0, 2), (0, 1, 2), (1,), ():
                count = np.prod([x[1].shape[a] for a in axes])
                magnitude = np.sum(abs(x[1]), axes) if name in ("sum", "mean") else abs(f(x[1], axes))
                error = (count + 1) * magnitude / (count if name == "mean" else 1)
                yield Case("reduce", [x], [(type, f(x[1], axes))], f"{kind}, axes = {i64s(axes)}", error=error)
            want = f(x[1], (1,), keepdims=True)
            yield Case("reduce", [x], [(type, want)], f"{kind}, axes = {i64s([1])}, keep_dims", error=6 * np.sum(abs(x[1]), 1, keepdims=True))
        if name != "mean":
            n = random("i32", (4, 5), -9, 9)
            yield Case("reduce", [n], [("i32", f(n[1], 1))], f"{kind}, axes = {i64s([1])}")
    x = ("f32", np.array([[1.0, NAN, 3.0], [1.0, 2.0, 3.0]]))
    for name, want in ("max", [NAN, 3]), ("min", [NAN, 1]), ("sum", [NAN, 6]):
        yield Case("reduce", [x], [("f32", np.array(want))], f"kind = #mpt.reduce_kind<{name}>, axes = {i64s([1])}")
    x = random("bf16", (2, 300))
    yield Case("reduce", [x], [("f32", x[1].sum(1))], f"kind = #mpt.reduce_kind<sum>, axes = {i64s([1])}",
               error=300 * abs(x[1]).sum(1))
    for type in ("f32", "bf16"):
        x = random(type, (6, 9))
        for index in "i32", "i64":
            yield Case("argmax", [x], [(index, x[1].argmax(1))])
    ties = ("f32", np.array([[1.0, 3, 3, 2], [5, 1, 5, 5], [NAN, 9, NAN, 1], [1, NAN, 2, INF]]))
    yield Case("argmax", [ties], [("i32", ties[1].argmax(1))])


def softmax_cases(random):
    for type in TYPES:
        x = random(type, (3, 5), -4, 4)
        p = np.exp(x[1]) / np.exp(x[1]).sum(-1, keepdims=True)
        # The exponent's argument errs by 8 u, the sum by 5 u.
        yield Case("softmax", [x], [(type, p)], error=32)
        yield Case("log_softmax", [x], [(type, np.log(p))], error=32 + 8 * abs(np.log(p)))
        dy = random(type, (3, 5))
        y = random(type, (3, 5), 0, 1)
        jacobian = np.einsum("ri,ij->rij", y[1], np.eye(5)) - np.einsum("ri,rj->rij", y[1], y[1])
        want = np.einsum("rij,ri->rj", jacobian, dy[1])
        error = 16 * y[1] * (abs(dy[1]) + abs(dy[1] * y[1]).sum(-1, keepdims=True))
        yield Case("softmax_grad", [dy, y], [(type, want)], error=error)
        y = random(type, (3, 5), -3, 0)
        total = dy[1].sum(-1, keepdims=True)
        error = 16 * (abs(dy[1]) + np.exp(y[1]) * abs(dy[1]).sum(-1, keepdims=True))
        yield Case("log_softmax_grad", [dy, y], [(type, dy[1] - np.exp(y[1]) * total)], error=error)
    # Large numbers do not overflow.
    x = ("f32", np.array([[1000.0, 1000.0], [-1000.0, 0.0]]))
    yield Case("softmax", [x], [("f32", np.array([[0.5, 0.5], [0.0, 1.0]]))])
    yield Case("log_softmax", [x], [("f32", np.array([[-np.log(2), -np.log(2)], [-1000.0, 0.0]]))])


def statistic(type):
    return "f64" if type == "f64" else "f32"


def normalizer_gradient(g, normal, rstd, centered):
    """Through n = (x - mean) rstd (n = x rstd if not centered) by its Jacobian
    rstd (I - 1 1^T / n - n n^T / n), group by group along the last axis."""
    size = g.shape[-1]
    jacobian = np.eye(size) - np.einsum("ri,rj->rij", normal, normal) / size
    if centered:
        jacobian = jacobian - 1 / size
    return rstd[..., None] * np.einsum("rij,ri->rj", jacobian, g)


def norm_cases(random):
    eps = 1e-3
    for type in TYPES:
        s = statistic(type)
        x, gamma, beta, dy = random(type, (4, 6)), random(s, (6,)), random(s, (6,)), random(type, (4, 6))
        v = x[1]
        mean, rstd = v.mean(-1), 1 / np.sqrt(v.var(-1) + eps)
        normal = (v - mean[:, None]) * rstd[:, None]
        y = normal * gamma[1] + beta[1]
        big = rstd.max() * (1 + abs(v).max()) * np.ones_like(v)
        yield Case("layer_norm", [x, gamma, beta], [(type, y), (s, mean), (s, rstd)], f"eps = {f64(eps)}",
                   error=[64 * (big + abs(y)), 8 * np.ones(4), 32 * rstd**2])
        # The gradient's operands are the rounded statistics.
        dx = normalizer_gradient(dy[1] * gamma[1], normal, rstd, True)
        outputs = [(type, dx), (s, (dy[1] * normal).sum(0)), (s, dy[1].sum(0))]
        errors = [512 * rstd.max() ** 2 * np.ones_like(v), 512 * rstd.max() * np.ones(6), 16 * np.ones(6)]
        case = Case("layer_norm_grad", [dy, x, gamma, (s, mean), (s, rstd)], outputs, error=errors)
        yield relaxed(case, s)
        rstd = 1 / np.sqrt((v**2).mean(-1) + eps)
        normal = v * rstd[:, None]
        yield Case("rms_norm", [x, gamma], [(type, normal * gamma[1]), (s, rstd)], f"eps = {f64(eps)}", error=32)
        dx = normalizer_gradient(dy[1] * gamma[1], normal, rstd, False)
        outputs = [(type, dx), (s, (dy[1] * normal).sum(0))]
        yield relaxed(Case("rms_norm_grad", [dy, x, gamma, (s, rstd)], outputs, error=errors[:2]), s)
        yield from batch_norm_cases(random, type, s)


def batch_norm_cases(random, type, s):
    eps, momentum = 1e-3, 0.2
    x, dy = random(type, (2, 3, 2, 4)), random(type, (2, 3, 2, 4))
    gamma, beta, rm, rv = random(s, (4,)), random(s, (4,)), random(s, (4,)), random(s, (4,), 0.5, 1.5)
    columns = x[1].reshape(-1, 4).T
    mean, var = columns.mean(1), columns.var(1)
    rstd = 1 / np.sqrt(var + eps)
    normal = (columns - mean[:, None]) * rstd[:, None]
    y = (normal * gamma[1][:, None] + beta[1][:, None]).T.reshape(x[1].shape)
    new_mean = (1 - momentum) * rm[1] + momentum * mean
    new_var = (1 - momentum) * rv[1] + momentum * columns.var(1, ddof=1)
    outputs = [(type, y), (s, new_mean), (s, new_var), (s, mean), (s, rstd)]
    errors = [256 * rstd.max() * np.ones_like(y)] + [64 * np.ones(4)] * 3 + [64 * rstd**2]
    yield Case("batch_norm", [x, gamma, beta, rm, rv], outputs, f"eps = {f64(eps)}, momentum = {f64(momentum)}", error=errors)
    want = (x[1] - rm[1]) * gamma[1] / np.sqrt(rv[1] + eps) + beta[1]
    yield Case("batch_norm_inference", [x, gamma, beta, rm, rv], [(type, want)], f"eps = {f64(eps)}",
               error=64 * np.ones_like(want))
    g = dy[1].reshape(-1, 4).T
    dx = normalizer_gradient(g * gamma[1][:, None], normal, rstd, True).T.reshape(y.shape)
    outputs = [(type, dx), (s, (g * normal).sum(1)), (s, g.sum(1))]
    errors = [1024 * rstd.max() ** 2 * np.ones_like(dx), 1024 * rstd.max() * np.ones(4), 32 * np.ones(4)]
    yield relaxed(Case("batch_norm_grad", [dy, x, gamma, (s, mean), (s, rstd)], outputs, error=errors), s)


def loss_cases(random):
    for type in TYPES:
        s = statistic(type)
        x = random(type, (2, 3, 5))
        t = random("i32", (2, 3), 0, 5)
        lse = np.log(np.exp(x[1]).sum(-1))
        for smoothing in (0.0, 0.1):
            target = (1 - smoothing) * np.eye(5)[t[1]] + smoothing / 5
            rows = lse - (target * x[1]).sum(-1)
            for ignored in (None, 2):
                counts = np.ones_like(rows) if ignored is None else (t[1] != ignored).astype(float)
                for reduction in ("mean", "sum"):
                    divisor = counts.sum() if reduction == "mean" else 1.0
                    attributes = f"reduction = #mpt.loss_reduction<{reduction}>, label_smoothing = {f64(smoothing)}"
                    if ignored is not None:
                        attributes += f", ignore_index = {ignored} : i64"
                    loss = (rows * counts).sum() / divisor
                    yield Case("cross_entropy", [x, t], [(s, loss), (s, lse)], attributes,
                               error=[np.array(256.0), 32 * np.ones_like(lse)])
                    dloss = ("f32" if type != "f64" else type, np.array(1.5))
                    p = np.exp(x[1] - lse[..., None])
                    want = 1.5 * (p - target) * counts[..., None] / divisor
                    case = Case("cross_entropy_grad", [dloss, x, t, (s, lse)], [(type, want)], attributes,
                                error=64 * np.ones_like(want))
                    yield relaxed(case, s)
        p, target, dloss = random(type, (3, 4)), random(s, (3, 4)), (s, np.array(0.75))
        squares = (p[1] - target[1]) ** 2
        for reduction, divisor in ("mean", 12.0), ("sum", 1.0):
            attributes = f"reduction = #mpt.loss_reduction<{reduction}>"
            yield Case("mse_loss", [p, target], [(s, squares.sum() / divisor)], attributes, error=32)
            want = 2 * 0.75 * (p[1] - target[1]) / divisor
            yield Case("mse_loss_grad", [dloss, p, target], [(type, want)], attributes, error=8)


def nn_cases(random):
    for maker in reduce_cases, softmax_cases, norm_cases, loss_cases:
        yield from maker(random)
