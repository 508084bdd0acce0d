"""Solutions of a linear system of condition 1000 in each precision, beside numpy's in f64."""
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
