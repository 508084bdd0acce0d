"""Forward losses of JAX: name -> (loss(parameters, batch..), parameters, batch)."""
import jax
import jax.numpy as jnp
import numpy


def mlp():
    rng = numpy.random.default_rng(0)

    def dense(rows, columns):
        return {"kernel": (rng.normal(size=(rows, columns)) / rows ** 0.5).astype("f"),
                "bias": numpy.zeros(columns, "f")}

    parameters = {"first": dense(8, 32), "second": dense(32, 4)}

    def loss(params, x, y):
        h = jax.nn.gelu(x @ params["first"]["kernel"] + params["first"]["bias"])
        logits = h @ params["second"]["kernel"] + params["second"]["bias"]
        logp = jax.nn.log_softmax(logits)
        return -jnp.take_along_axis(logp, y[:, None], 1).mean()

    return loss, parameters, (rng.normal(size=(16, 8)).astype("f"),
                              rng.integers(4, size=16).astype("i"))


def with_flax(model, x, loss, *targets, **options):
    """A flax linen model; what is not a parameter stays as it is initialized."""
    variables = jax.jit(lambda: model.init(jax.random.key(0), x, **options))()
    rest = {name: value for name, value in variables.items() if name != "params"}

    def function(params, x, *targets):
        mutable = list(rest)
        found = model.apply({"params": params, **rest}, x, mutable=mutable, **options)
        return loss(found[0] if mutable else found, *targets)

    if not rest:
        function = lambda params, x, *targets: loss(
            model.apply({"params": params}, x, **options), *targets)
    return function, variables["params"], (x, *targets)


def cross_entropy(logits, labels):
    import optax
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def linen_cnn():
    from flax import linen as nn
    rng = numpy.random.default_rng(1)

    class Block(nn.Module):
        features: int
        strides: int = 1

        @nn.compact
        def __call__(self, x):
            y = nn.Conv(self.features, (3, 3), (self.strides,) * 2, use_bias=False)(x)
            y = nn.relu(nn.BatchNorm(use_running_average=False)(y))
            y = nn.Conv(self.features, (3, 3), use_bias=False)(y)
            y = nn.BatchNorm(use_running_average=False)(y)
            if x.shape != y.shape:
                x = nn.Conv(self.features, (1, 1), (self.strides,) * 2, use_bias=False)(x)
            return nn.relu(x + y)

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.max_pool(nn.relu(nn.Conv(8, (3, 3))(x)), (2, 2), (2, 2))
            x = Block(16, 2)(Block(8)(x))
            x = nn.avg_pool(x, (2, 2), (2, 2)).mean((1, 2))
            return nn.Dense(5)(x)

    return with_flax(Network(), rng.normal(size=(8, 16, 16, 3)).astype("f"), cross_entropy,
                     rng.integers(5, size=8).astype("i"))


def linen_gpt():
    from flax import linen as nn
    rng = numpy.random.default_rng(2)

    class Network(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            width, heads = 32, 4
            x = nn.Embed(17, width)(tokens)
            x = x + self.param("positions", nn.initializers.normal(0.02), (12, width))
            mask = nn.make_causal_mask(tokens)
            for _ in range(2):
                y = nn.LayerNorm()(x)
                x = x + nn.MultiHeadDotProductAttention(heads)(y, mask=mask)
                y = nn.LayerNorm()(x)
                x = x + nn.Dense(width)(nn.gelu(nn.Dense(4 * width)(y)))
            return nn.Dense(17)(nn.LayerNorm()(x))

    tokens = rng.integers(17, size=(4, 13)).astype("i")
    return with_flax(Network(), tokens[:, :-1], cross_entropy, tokens[:, 1:])


def linen_lstm():
    from flax import linen as nn
    rng = numpy.random.default_rng(3)

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.RNN(nn.OptimizedLSTMCell(16))(x)
            return nn.Dense(3)(x[:, -1])

    return with_flax(Network(), rng.normal(size=(4, 9, 5)).astype("f"), cross_entropy,
                     rng.integers(3, size=4).astype("i"))


def linen_vit():
    from flax import linen as nn
    rng = numpy.random.default_rng(4)

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(32, (4, 4), (4, 4), padding="VALID")(x)
            x = x.reshape(x.shape[0], -1, 32)
            token = self.param("token", nn.initializers.zeros, (1, 1, 32))
            x = jnp.concatenate([jnp.tile(token, (x.shape[0], 1, 1)), x], 1)
            x = x + self.param("positions", nn.initializers.normal(0.02), (1, 17, 32))
            for _ in range(2):
                x = x + nn.MultiHeadDotProductAttention(4)(nn.LayerNorm()(x))
                x = x + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x)),
                                             approximate=False))
            return nn.Dense(5)(nn.LayerNorm()(x)[:, 0])

    return with_flax(Network(), rng.normal(size=(4, 16, 16, 3)).astype("f"), cross_entropy,
                     rng.integers(5, size=4).astype("i"))


def nnx_mlp():
    from flax import nnx
    rng = numpy.random.default_rng(5)

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(8, 32, rngs=rngs)
            self.norm = nnx.RMSNorm(32, rngs=rngs)
            self.last = nnx.Linear(32, 3, rngs=rngs)

        def __call__(self, x):
            return self.last(self.norm(nnx.silu(self.first(x))))

    graph, state = nnx.split(Network(nnx.Rngs(0)))
    parameters = nnx.to_pure_dict(state)

    def loss(params, x, y):
        network = nnx.merge(graph, nnx.State(params))
        return cross_entropy(network(x), y)

    return loss, parameters, (rng.normal(size=(16, 8)).astype("f"),
                              rng.integers(3, size=16).astype("i"))


def fourier():
    """A layer that mixes by a transform, as FNet, and one with weights for frequencies, as a
    Fourier neural operator."""
    rng = numpy.random.default_rng(6)
    parameters = {"mix": rng.normal(size=(12, 12)).astype("f") / 3,
                  "real": rng.normal(size=(5, 12, 12)).astype("f") / 12,
                  "imag": rng.normal(size=(5, 12, 12)).astype("f") / 12}

    def loss(params, x, y):
        x = x + jax.nn.gelu(jnp.fft.fft2(x).real @ params["mix"] / 12)
        weights = jax.lax.complex(params["real"], params["imag"])
        low = jnp.einsum("bki,kio->bko", jnp.fft.rfft(x, axis=1)[:, :5], weights)
        x = x + jnp.fft.irfft(low, n=x.shape[1], axis=1)
        return jnp.mean((x - y) ** 2)

    return loss, parameters, (rng.normal(size=(4, 20, 12)).astype("f"),
                              rng.normal(size=(4, 20, 12)).astype("f"))


def gaussian():
    """The marginal likelihood of a Gaussian process with a learned kernel, and a layer whose
    weight is orthogonal by Cayley's transform."""
    rng = numpy.random.default_rng(7)
    parameters = {"turn": rng.normal(size=(6, 6)).astype("f") / 3,
                  "length": numpy.ones(6, "f"), "noise": numpy.float32(0.5)}

    def loss(params, x, y):
        skew = params["turn"] - params["turn"].T
        x = jnp.linalg.solve(jnp.eye(6) + skew, (jnp.eye(6) - skew) @ x.T).T * params["length"]
        distance = ((x[:, None] - x[None]) ** 2).sum(-1)
        kernel = jnp.exp(-distance / 2) + params["noise"] ** 2 * jnp.eye(len(x))
        factor = jnp.linalg.cholesky(kernel)
        white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return 0.5 * jnp.mean(white ** 2) + jnp.log(jnp.diagonal(factor)).mean()

    return loss, parameters, (rng.normal(size=(12, 6)).astype("f"),
                              rng.normal(size=12).astype("f"))


def graph():
    """Attention over the edges of a graph: a softmax for each node, by segments."""
    rng = numpy.random.default_rng(7)
    nodes, edges = 40, 150
    parameters = {"w": rng.normal(size=(6, 8)).astype("f") / 3,
                  "from": rng.normal(size=8).astype("f"), "to": rng.normal(size=8).astype("f")}

    def loss(params, x, senders, receivers, y):
        h = x @ params["w"]
        score = jax.nn.leaky_relu((h @ params["from"])[senders] + (h @ params["to"])[receivers])
        largest = jax.ops.segment_max(score, receivers, nodes)
        weight = jnp.exp(score - largest[receivers])
        total = jax.ops.segment_sum(weight, receivers, nodes)
        mixed = jax.ops.segment_sum(weight[:, None] * h[senders], receivers, nodes)
        # The largest scores have gradients of their own.
        mixed = mixed / (total[:, None] + 1e-6) + jnp.where(total > 0, largest, 0)[:, None]
        return jnp.mean((mixed - y) ** 2)

    ids = [rng.integers(nodes, size=edges).astype("i") for _ in range(2)]
    return loss, parameters, (rng.normal(size=(nodes, 6)).astype("f"), *ids,
                              rng.normal(size=(nodes, 8)).astype("f"))


NETWORKS = {f.__name__: f for f in (mlp, linen_cnn, linen_gpt, linen_lstm, linen_vit, nnx_mlp,
                                fourier, gaussian, graph)}
