"""Training steps of Keras on TensorFlow: tf.function, compiled by XLA.

    keras_steps.py export FOLDER STEPS NAME..   writes NAME.mlir, the step in StableHLO, and
        NAME.npz: its first state, batches, and TensorFlow's losses and last state
    keras_steps.py take FOLDER NAME..           gives the variables the state in NAME.back.npz
        and compares the loss of the next batch with the one in there

Runs in the virtual environment of TensorFlow, which has no JAX and no MPT.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy
import tensorflow as tf


def mlp():
    layers = keras.layers
    return keras.Sequential([
        keras.Input((8,)), layers.Dense(32, activation="gelu"), layers.LayerNormalization(),
        layers.Dense(32, activation="relu"), layers.Dense(4)]), keras.optimizers.AdamW(1e-2)


def cnn():
    layers = keras.layers
    return keras.Sequential([
        keras.Input((12, 12, 3)), layers.Conv2D(8, 3, padding="same", use_bias=False),
        layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(),
        layers.Conv2D(16, 3, strides=2, activation="relu"), layers.DepthwiseConv2D(2),
        layers.Flatten(), layers.Dense(4)]), keras.optimizers.SGD(
            keras.optimizers.schedules.CosineDecay(0.05, 30), momentum=0.9, global_clipnorm=1.0)


def lstm():
    layers = keras.layers
    return keras.Sequential([
        keras.Input((7, 6)), layers.LSTM(9), layers.Dense(4)]), keras.optimizers.Adam(1e-2)


NETWORKS = {"mlp": mlp, "cnn": cnn, "lstm": lstm}


class Step:
    def __init__(self, name):
        keras.utils.set_random_seed(0)
        network, optimizer = NETWORKS[name]()
        optimizer.build(network.trainable_variables)
        self.shape = network.input_shape[1:]

        @tf.function(jit_compile=True)
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(
                    y, network(x, training=True), from_logits=True))
            optimizer.apply(tape.gradient(loss, network.trainable_variables))
            return loss

        self.step = step
        concrete = step.get_concrete_function(*self.batch(0))
        variables = {id(v.handle): v for v in concrete.variables}
        # What the step captures are its arguments after the batch.
        self.captured = [variables.get(id(each), each) for each in concrete.captured_inputs]

    def batch(self, number):
        rng = numpy.random.default_rng(number)
        y = rng.integers(4, size=16).astype("i")
        x = rng.normal(size=(16, *self.shape)) + y.reshape(-1, *[1] * len(self.shape)) - 1.5
        return tf.constant(x.astype("f")), tf.constant(y)

    def state(self):
        return [each.numpy() for each in self.captured]


def export(folder, steps, name):
    step = Step(name)
    text = step.step.experimental_get_compiler_ir(*step.batch(0))(stage="stablehlo")
    with open(f"{folder}/{name}.mlir", "w", encoding="utf-8") as file:
        file.write(text)
    arrays = {f"first{i}": value for i, value in enumerate(step.state())}
    losses = []
    for number in range(steps + 1):
        x, y = step.batch(number)
        arrays |= {f"x{number}": x.numpy(), f"y{number}": y.numpy()}
        if number < steps:
            losses.append(step.step(x, y).numpy())
    arrays |= {f"last{i}": value for i, value in enumerate(step.state())}
    numpy.savez(f"{folder}/{name}.npz", losses=losses, **arrays)


def take(folder, name):
    step = Step(name)
    back = numpy.load(f"{folder}/{name}.back.npz")
    for i, variable in enumerate(step.captured):
        if isinstance(variable, tf.Variable) and f"last{i}" in back:
            variable.assign(back[f"last{i}"])
    mine, theirs = float(back["loss"]), float(step.step(*step.batch(int(back["number"]))))
    gap = abs(mine - theirs) / abs(theirs)
    print(f"{name}: loss of the next batch {'equal' if gap < 1e-4 else 'DIFFERS'} ({gap:.1e})")


if __name__ == "__main__":
    command, folder, *names = sys.argv[1:]
    for name in names[1:] if command == "export" else names:
        export(folder, int(names[0]), name) if command == "export" else take(folder, name)
