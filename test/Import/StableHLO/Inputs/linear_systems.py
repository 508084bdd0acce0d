"""Solutions of a linear system of condition 1000 in each precision, beside numpy's in f64, and
gradients of factorizations, beside JAX's in f64."""
import jax
import jax.numpy as jnp
import numpy

import mpt.jax

rng = numpy.random.default_rng(0)
u, _ = numpy.linalg.qr(rng.normal(size=(8, 8)))
v, _ = numpy.linalg.qr(rng.normal(size=(8, 8)))
a = (u * numpy.logspace(0, -3, 8)) @ v
a32, ones = a.astype("f"), numpy.ones(8, "f")
expected = numpy.linalg.solve(a32.astype("d"), ones.astype("d"))[0]
for precision in ("f32", "bf16", "f16"):
    step = mpt.jax.train_step(lambda p, b: jnp.linalg.solve(p["a"], b)[0], {"a": a32}, (ones,),
                              optimizer="sgd", lr=0.0, precision=precision)
    found = float(step(ones).loss)
    # The condition times half a unit in the last place of f32, for each of 8 rows.
    fits = abs(found - expected) <= 8 * 1000 * 2.0 ** -24 * abs(expected)
    print(f"{precision}: {'as exact as f32' if fits else f'{found}, expected {expected}'}")

# Gradients, of losses that the signs of vectors do not change.
def orthogonal(w, x):
    q, r = jnp.linalg.qr(w)
    return (jnp.sin(x @ q) ** 2).mean() + (r ** 2).mean()

def whitened(w, x):
    y = x @ w
    values, vectors = jnp.linalg.eigh(y.T @ y / len(y) + 0.1 * jnp.eye(w.shape[1]))
    return (jnp.tanh(y @ (vectors / jnp.sqrt(values)) @ vectors.T) ** 3).mean() + jnp.log(values).sum()

def nuclear(w, x):
    u, s, v = jnp.linalg.svd(w, full_matrices=False)
    return ((x @ (u * jnp.sqrt(s)) @ v) ** 2).mean() + s.sum() + jnp.sin(x @ u @ v).mean()

def inverted(w, x):
    return (jnp.linalg.pinv(w) ** 2).sum() + (jnp.linalg.lstsq(w, x[:len(w), 0])[0] ** 2).sum()

for name, loss, shape in (("qr", orthogonal, (12, 7)), ("qr square", orthogonal, (12, 12)),
                          ("eigh", whitened, (12, 7)), ("svd", nuclear, (12, 7)),
                          ("svd wide", nuclear, (12, 15)), ("pinv", inverted, (12, 7))):
    w, x = (rng.normal(size=size).astype("f") for size in (shape, (40, 12)))
    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(loss)(jnp.asarray(w, "d"), jnp.asarray(x, "d"))
    step = mpt.jax.train_step(loss, w, (x,), optimizer="sgd", lr=1.0)
    found = float(step(x).loss)
    gap = numpy.linalg.norm(w - step.params - gradient) / numpy.linalg.norm(gradient)
    # The condition of these matrices is below 100; sums have up to 40 terms.
    print(f"{name}:", abs(found - value) <= 40 * 100 * 2.0 ** -24 * abs(value), gap <= 40 * 100 * 2.0 ** -24)

# What rounding leaves of larger matrices, beside numpy in f64: by the number of rows as LAPACK's.
def decompose(a):
    values, vectors = jnp.linalg.eigh(a)
    u, s, v = jnp.linalg.svd(a, full_matrices=False)
    return values, vectors, u, s, v

for n in (65, 128):
    a = rng.normal(size=(n, n))
    q, _ = numpy.linalg.qr(a)
    for name, matrix in (("random", (a + a.T) / 2), ("of clusters", (q * numpy.repeat(
            (1, 1.001, 2, 5), -(-n // 4))[:n]) @ q.T), ("of small values", (q * numpy.logspace(0, -6, n)) @ q.T)):
        matrix = ((matrix + matrix.T) / 2).astype("f")
        outputs = lambda p, a: (p["w"].sum(), dict(zip("abcde", decompose(a))))
        result = mpt.jax.train_step(outputs, {"w": numpy.zeros(1, "f")}, (matrix,), optimizer="sgd")(matrix)
        values, vectors, u, s, v = (numpy.asarray(result[key], "d") for key in "abcde")
        wide, scale = matrix.astype("d"), numpy.linalg.norm(matrix, 2)
        gaps = [numpy.abs(values - numpy.linalg.eigvalsh(wide)).max() / scale,
                numpy.linalg.norm(wide @ vectors - vectors * values, 2) / scale,
                numpy.linalg.norm(vectors.T @ vectors - numpy.eye(n), 2),
                numpy.abs(s - numpy.linalg.svd(wide, compute_uv=False)).max() / scale,
                numpy.linalg.norm((u * s) @ v - wide, 2) / scale,
                *(numpy.linalg.norm(x.T @ x - numpy.eye(n), 2) for x in (u, v))]
        print(f"{n} {name}:", [bool(gap <= n * 2.0 ** -24) for gap in gaps])
