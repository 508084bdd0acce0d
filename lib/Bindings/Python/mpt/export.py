# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a PyTorch model: python -m mpt.export my_model.py:make -o model.mlir

The function (here `make`) takes no arguments and returns (model, loss, example):
a torch.nn.Module, a function loss(model, *batch), and one batch as a tuple of tensors.
"""
import argparse
import importlib.util
import os
import sys


def load(source):
    """The function that FILE.py:NAME names."""
    path, _, name = source.rpartition(":")
    if not path:
        raise SystemExit(f"mpt.export: {source}: expected FILE.py:FUNCTION")
    if not os.path.isfile(path):
        raise SystemExit(f"mpt.export: {path}: no such file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(
        os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, name, None)):
        raise SystemExit(f"mpt.export: {path} has no function '{name}'")
    return getattr(module, name)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m mpt.export", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="FILE.py:FUNCTION")
    parser.add_argument("-o", dest="output", required=True, metavar="FILE.mlir",
                        help="where the graph goes")
    parser.add_argument("--weights", metavar="FILE.safetensors",
                        help="where the values of parameters and buffers go")
    parser.add_argument("--dynamic-batch", action="store_true",
                        help="leave dimension 0 of the batch open")
    options = parser.parse_args(arguments)
    import mpt.torch
    made = load(options.source)()
    if not isinstance(made, tuple) or len(made) != 3:
        raise SystemExit(f"mpt.export: {options.source}: expected the function to return "
                         "(model, loss, example)")
    model, loss, example = made
    try:
        mpt.torch.export(model, loss, example, dynamic_batch=options.dynamic_batch).save(
            options.output, options.weights)
    except mpt.torch.ExportError as error:
        raise SystemExit(f"mpt.export: {error}")


if __name__ == "__main__":
    main()
