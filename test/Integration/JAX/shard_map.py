"""A JAX step over several devices through mpt-opt --mpt-autocast and back into XLA.

    shard_map.py --mpt-opt=PATH [--devices=4] [--options="wire=bf16"]

A perceptron's step under shard_map, its gradients averaged by collectives, is cast to bf16 and run
by XLA on host devices. Checks the types of the collectives, and the losses against those of the step
as it was. Exits with 1 and says what failed.
"""

import argparse
import re
import subprocess
import sys

from round_trip import Report  # sets up JAX

import os

DEVICES = next((int(a.split("=")[1]) for a in sys.argv if a.startswith("--devices=")), 4)
os.environ["XLA_FLAGS"] += f" --xla_force_host_platform_device_count={DEVICES}"

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROWS, INPUTS, WIDTH, OUTPUTS = 64, 16, 64, 2


def step(parameters, x, y):
    """On each device, with its rows of the batch."""

    def loss(p):
        return ((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2).mean()

    value, gradients = jax.value_and_grad(loss)(jax.lax.pcast(parameters, "data", to="varying"))
    gradients = jax.lax.pmean(gradients, "data")
    return jax.tree.map(lambda p, g: p - 0.2 * g, parameters, gradients), jax.lax.pmean(value, "data")


class Program:
    """A step's text, compiled by XLA for the devices of a mesh."""

    def __init__(self, text, mesh, shardings):
        options = xla_client.CompileOptions()
        options.num_partitions = DEVICES
        build = options.executable_build_options
        build.num_partitions = DEVICES
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True
        build.device_assignment = xla_client.DeviceAssignment.create(
            np.arange(DEVICES).reshape(1, DEVICES))
        devices = tuple(mesh.devices.flat)
        with mlir.make_ir_context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            module.operation.verify()
            self.executable = devices[0].client.compile_and_load(
                module, xla_client.DeviceList(devices), options)
        self.shardings = shardings

    def __call__(self, leaves):
        arrays = [jax.device_put(leaf, sharding) for leaf, sharding in zip(leaves, self.shardings)]
        return [shards[0] for shards in
                self.executable.execute_sharded(arrays).disassemble_into_single_device_arrays()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpt-opt", required=True)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--options", default="")
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    report = Report()

    mesh = Mesh(np.array(jax.devices()), ("data",))
    whole, rows = PartitionSpec(), PartitionSpec("data")
    rng = np.random.default_rng(0)
    draw = lambda *shape: (rng.normal(size=shape) / shape[0] ** 0.5).astype(np.float32)
    parameters = {"w1": draw(INPUTS, WIDTH), "b1": np.zeros(WIDTH, np.float32),
                  "w2": draw(WIDTH, OUTPUTS)}
    x = rng.normal(size=(ROWS, INPUTS)).astype(np.float32)
    batch = [x, np.stack([np.sin(x[:, 0]), np.cos(x[:, 1])], 1)]
    mapped = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(whole, rows, rows),
                                   out_specs=(whole, whole)), donate_argnums=0)
    text = mapped.lower(parameters, *batch).compiler_ir("stablehlo").operation.get_asm(
        print_generic_op_form=True)
    low = subprocess.run(
        [options.mpt_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic",
         f"--mpt-autocast=type=bf16 client=xla-cpu {options.options}"],
        input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    dots = re.findall(r'"stablehlo.dot_general".*-> tensor<[0-9x]*x?(\w+)>', low)
    report(len(dots) >= 4 and set(dots) == {"bf16"}, f"all matmuls are low: {dots}")
    sums = re.findall(r'"stablehlo.all_reduce"\(.*?\}\) : \(.*?\) -> tensor<[0-9x]*?(f32|bf16)>',
                      low, re.DOTALL)
    wire = "bf16" if "wire=bf16" in options.options else "f32"
    report(len(sums) >= 4 and set(sums) == {wire}, f"collectives add in {wire}: {sums}")

    count = len(parameters)
    shardings = [NamedSharding(mesh, whole)] * count + [NamedSharding(mesh, rows)] * 2

    def train(source):
        program, leaves, losses = Program(source, mesh, shardings), jax.tree.leaves(parameters), []
        for _ in range(options.steps):
            *leaves, loss = map(np.asarray, program(leaves + batch))
            losses.append(float(loss))
        return losses

    exact, found = train(text), train(low)
    print(f"losses: {found[0]:.5f} .. {found[-1]:.5f}, in f32 {exact[0]:.5f} .. {exact[-1]:.5f}")
    report(found[-1] < 0.5 * found[0], "the step learns")
    report(found != exact, "in another precision")
    report(np.allclose(found, exact, rtol=0.03), "as it does in f32, within 3 %")
    # One device sees the whole batch: the mean of the devices' means is the batch's.
    single = parameters
    whole_step = jax.jit(lambda p: jax.value_and_grad(
        lambda p: ((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - batch[1]) ** 2).mean())(p))
    losses = []
    for _ in range(options.steps):
        value, gradients = whole_step(single)
        single = jax.tree.map(lambda p, g: p - 0.2 * g, single, gradients)
        losses.append(float(value))
    report(np.allclose(exact, losses, rtol=1e-4), "and as one device does")
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
