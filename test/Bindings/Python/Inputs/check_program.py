"""mpt.Module and mpt.Program with numpy alone: check_program.py FOLDER"""
import os
import signal
import sys
import threading
import time

import numpy

import mpt

TEXT = """
func.func @loss(%w: tensor<4x3xf32> {mpt.name = "w", mpt.role = "parameter"},
                %x: tensor<?x4xf32> {mpt.name = "x", mpt.role = "input"},
                %y: tensor<?x3xf32> {mpt.name = "y", mpt.role = "target"})
    -> (tensor<f32> {mpt.name = "loss"}) {
  %p = mpt.matmul %x, %w : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %l = mpt.mse_loss %p, %y : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
"""
STEP = "mpt-specialize{batch=8},mpt-autodiff,mpt-train-step{optimizer=sgd lr=0.5}"


def refused(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except mpt.Error as error:
        print("refused:", str(error).splitlines()[0])
        return error
    print("NOT REFUSED")


def pointer(array):
    return array.__array_interface__["data"][0]


def main(folder):
    assert "torch" not in sys.modules
    print("MPT", mpt.version)
    module = mpt.Module(TEXT, "model.mlir")
    copy = module.clone()
    copy.run(STEP)
    print("text:", "mpt.sgd" in str(copy), "mpt.sgd" in str(module),
          'loc("model.mlir"' in copy.text(locations=True))
    program = copy.program(threads=1)
    print(program.tensors[0], program.tensors[0].shape, program.target.split()[0])
    random = numpy.random.default_rng(0)
    w = random.normal(size=(4, 3)).astype("f")
    x, y = (random.normal(size=(8, n)).astype("f") for n in (4, 3))
    program.write("w", w)
    program.bind("x", x)
    program.bind("y", y)
    program.run()

    # What the formulas say.
    def step(w):
        error = x @ w - y
        return (error ** 2).mean(), w - 0.5 * x.T @ (2 * error / 24)

    loss, after = step(w)
    print("step:", numpy.allclose(numpy.asarray(program.read("loss")), loss),
          numpy.allclose(numpy.asarray(program.read("w")), after, atol=1e-6))

    # No copies: a view is the program's memory, an input is the caller's.
    view = numpy.from_dlpack(program.view("w"))
    again = numpy.from_dlpack(program.view("w"))
    taken = numpy.asarray(program.read("w"))
    print("view:", pointer(view) == pointer(again), pointer(taken) == pointer(view),
          numpy.array_equal(view, taken))
    out = numpy.empty((4, 3), "f")
    print("out:", program.read("w", out=out) is out, numpy.array_equal(out, view))
    print("input:", pointer(numpy.from_dlpack(program.view("x"))) == pointer(x))
    x[:] = random.normal(size=(8, 4))
    loss, after = step(view.copy())
    program.run()
    print("changed:", numpy.allclose(view, after, atol=1e-6))
    view[:] = 0
    print("written:", not numpy.asarray(program.read("w")).any())

    # Another batch size over the same memory.
    other = module.clone()
    other.run(STEP.replace("8", "2"))
    other = other.program(share=program)
    print("shared:", pointer(numpy.from_dlpack(other.view("w"))) == pointer(view))

    # Files.
    copy.compile(os.path.join(folder, "step.so"))
    opened = mpt.Program.open(os.path.join(folder, "step.so"))
    program.save(os.path.join(folder, "c.safetensors"), attempt=2, seed=7)
    print("file:", opened.digest == program.digest,
          opened.load(os.path.join(folder, "c.safetensors")))
    print("loaded:", numpy.array_equal(numpy.asarray(opened.read("w")), view))

    # Diagnostics have places; warnings and remarks are returned.
    error = refused(mpt.Module, "func.func @f() {", "bad.mlir")
    print(error.diagnostics[0])
    broken = module.clone()
    refused(broken.run, "mpt-autodiff{function=f}")
    for use in (lambda: broken.run("canonicalize"), broken.clone, broken.program,
                lambda: broken.compile(os.path.join(folder, "broken.so"))):
        refused(use)
    low = module.clone()
    print("remarks:", {d.severity for d in low.run(
        "mpt-specialize{batch=8},mpt-explain{match='.*' type=bf16}")})
    refused(module.compile, os.path.join(folder, "none", "step.so"))
    refused(mpt.Program.open, os.path.join(folder, "none.so"))
    refused(mpt.Program.open, os.path.join(folder, "step.so"), device="tpu")
    refused(mpt.Program.open, os.path.join(folder, "step.so"), threads=-1)
    fresh = mpt.Program.open(os.path.join(folder, "step.so"))
    refused(fresh.run)
    refused(fresh.bind, "w", w)
    refused(fresh.bind, "v", w)
    refused(fresh.bind, "x", [1, 2])
    refused(fresh.bind, "x", x.astype("d"))
    refused(fresh.bind, "x", x[:4])
    refused(fresh.bind, "x", numpy.zeros((4, 8), "f").T)
    refused(fresh.bind_address, "x", 0, 4)
    refused(fresh.read, "x")
    refused(fresh.view, "x")
    constant = numpy.empty((4, 3), "f")
    constant.flags.writeable = False
    refused(program.read, "w", out=constant)
    fresh.write("w", constant)
    bound = numpy.zeros((8, 4), "f")
    bound.flags.writeable = False  # Runs do not write to inputs.
    fresh.bind("x", bound)
    refused(fresh.load, os.path.join(folder, "none.safetensors"))
    fresh.close()
    fresh.close()
    refused(fresh.run)
    refused(lambda: fresh.tensors)
    print("closed:", fresh.closed)

    # A view outlives its program.
    program.close()
    view[:] = 3
    print("alive:", view.sum() == 36, numpy.asarray(other.read("w")).sum() == 36)

    # Other threads go on while a program runs, and Ctrl-C ends the loop between runs.
    large = mpt.Module("""
func.func @f(%w: tensor<1024x1024xf32> {mpt.name = "w", mpt.role = "input"})
    -> (tensor<1024x1024xf32> {mpt.name = "y"}) {
  %a = mpt.matmul %w, %w : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b = mpt.matmul %a, %w : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %b : tensor<1024x1024xf32>
}""").program(threads=1)
    large.bind("w", numpy.eye(1024, dtype="f"))
    ticks, ends = [], threading.Event()

    def tick():
        while not ends.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    large.run()
    ran = time.monotonic() - start
    within = sum(start < t < start + ran for t in ticks)
    ends.set()
    thread.join()
    print("threads:", within >= 2)
    # Shells start what runs in the background with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        start = time.monotonic()
        while time.monotonic() < start + 60:
            large.run()
        print("NOT interrupted")
    except KeyboardInterrupt:
        print("interrupted:", numpy.asarray(large.read("y")).trace() == 1024)


if __name__ == "__main__":
    main(sys.argv[1])
