"""Trains a network of flax on scikit-learn's digits: digits.py [f32|bf16|f16]."""
import sys, flax.linen as nn, jax, mpt.jax, numpy, optax, sklearn.datasets

images, labels = sklearn.datasets.load_digits(return_X_y=True)
x, y = (images.reshape(-1, 8, 8, 1) / 16).astype("float32"), labels.astype("int32")
net = nn.Sequential([nn.Conv(32, (3, 3)), nn.relu, lambda x: nn.max_pool(x, (2, 2), (2, 2)),
                     lambda x: x.reshape(len(x), -1), nn.Dense(64), nn.gelu, nn.Dense(10)])
loss = lambda params, x, y: optax.softmax_cross_entropy_with_integer_labels(net.apply(params, x), y).mean()
step = mpt.jax.train_step(loss, net.init(jax.random.key(0), x[:1]), (x[:32], y[:32]),
                          optimizer="adamw weight-decay=0.01", lr=optax.cosine_decay_schedule(2e-3, 450),
                          precision=(sys.argv + ["bf16"])[1])
for rows in (rows for _ in range(10) for rows in numpy.random.default_rng(0).permutation(1440).reshape(-1, 32)):
    result = step(x[rows], y[rows])
print(result, (net.apply(step.params, x[1440:]).argmax(1) == y[1440:]).mean())
