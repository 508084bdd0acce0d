# lit configuration of MPT's tests.
import glob
import os
import shutil
import subprocess

import lit.formats
import lit.util
from lit.llvm import llvm_config

config.name = "MPT"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = {".mlir", ".test"}
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.mpt_obj_root + "/test"
config.excludes = {"Inputs", "unittests", "benchmark", "consumer", "lib", "CMakeLists.txt"}

llvm_config.with_system_environment(["HOME", "TMP", "TEMP", "CI"])
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
# Programs that are compiled for one run keep there what they measure.
cache = os.path.join(config.test_exec_root, "cache")
shutil.rmtree(cache, ignore_errors=True)
os.makedirs(cache, exist_ok=True)
config.environment["XDG_CACHE_HOME"] = cache
llvm_config.use_default_substitutions()
config.substitutions.append(("%mpt_src_root", config.mpt_src_root))
config.substitutions.append(("%mpt_obj_root", config.mpt_obj_root))
config.substitutions.append(("%mpt_lib_dir", config.mpt_obj_root + "/lib"))
config.substitutions.append(("%llvm_tools_dir", config.llvm_tools_dir))
config.substitutions.append(("%llvm_include_dir", config.llvm_include_dir))

# Python with what the tests need from PyPI; made by tools/check under build/.
venv_python = os.path.join(config.mpt_obj_root, "venv", "bin", "python")
python = venv_python if os.path.exists(venv_python) else config.python_executable
# In front of lit's own %python, which is the Python that runs lit.
config.substitutions.insert(0, ("%python", python))


def installed(modules):
    """Those of the modules that are installed. Nothing is imported, which would take half a
    minute of every run of lit; a module that is installed and broken fails its tests."""
    script = ("import importlib.util, sys\n"
              "for name in sys.argv[1:]:\n"
              "    parent = name.rpartition('.')[0]\n"
              "    if (not parent or importlib.util.find_spec(parent)) and importlib.util.find_spec(name):\n"
              "        print(name)\n")
    output, _, _ = lit.util.executeCommand([python, "-c", script, *modules])
    return output.split()


found = installed((
    "numpy", "torch", "torchvision", "transformers", "safetensors", "peft", "bitsandbytes",
    "accelerate", "lightning", "auditwheel", "scikit_build_core", "sklearn", "jax", "optax",
    "flax", "haiku", "equinox", "distrax", "chex", "jmp", "keras", "tensorflow", "deepspeed",
    "tensorboard", "torch_mlir", "iree.compiler", "iree.runtime", "material"))
config.available_features.update(found)
# TensorFlow has a virtual environment of its own. To import it takes seconds.
tensorflow_venv = os.path.join(config.mpt_obj_root, "venv-tensorflow")
if glob.glob(os.path.join(tensorflow_venv, "lib/python*/site-packages/tensorflow/__init__.py")):
    config.available_features.add("tensorflow-venv")
config.substitutions.append(
    ("%tensorflow_python", os.path.join(tensorflow_venv, "bin", "python")))
if shutil.which("clang-format-22"):
    config.available_features.add("clang-format")
if "material" in found:
    config.available_features.add("mkdocs-material")
if config.have_runtime == "ON":
    config.available_features.add("runtime")
# The Python package of the build folder.
package = os.path.join(config.mpt_obj_root, "python")
if glob.glob(os.path.join(package, "mpt", "_core*.so")):
    config.available_features.add("mpt-python")
config.substitutions.append(("%mpt_python", "env PYTHONPATH=" + package + " " + python))
# In front of programs in which JAX computes reference values alone: XLA takes far longer to
# optimize them than to run them. Steps that MPT hands to XLA are compiled as users compile them.
config.substitutions.append(("%jax_oracle", "env JAX_DISABLE_MOST_OPTIMIZATIONS=1"))
# In front of programs that load MPT's shared libraries but were built by others: with
# sanitizers those need their runtime in the process.
preload = ""
if config.sanitizer:
    config.available_features.add("sanitizer")
    if "Address" in config.sanitizer:
        output, _, _ = lit.util.executeCommand(
            config.c_compiler.split() + ["-print-file-name=libclang_rt.asan-x86_64.so"])
        preload = "env LD_PRELOAD=" + output.strip()
        config.c_compiler += " -fsanitize=address,undefined"
config.substitutions.append(("%preload", preload))
config.substitutions.append(("%cc", config.c_compiler))
if os.path.exists("/usr/local/cuda/bin/ptxas"):
    config.available_features.add("ptxas")
# Processes that train together, more than there may be cores, also as root.
if shutil.which("mpirun"):
    config.available_features.add("mpirun")
config.substitutions.append(("%mpirun", "env OMPI_ALLOW_RUN_AS_ROOT=1 "
                             "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe"))
# What `apt-get update` writes.
if glob.glob("/var/lib/apt/lists/*_Packages*"):
    config.available_features.add("apt-package-lists")
# Tests that hide folders from what they run.
if shutil.which("unshare") and not subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True, check=False).returncode:
    config.available_features.add("mount-namespaces")
# tools/utils/install-packages --aarch64.
if (shutil.which("qemu-aarch64") and os.path.exists("/usr/aarch64-linux-gnu/lib/libc.a")
        and glob.glob("/usr/lib/gcc-cross/aarch64-linux-gnu/*/libstdc++.a")):
    config.available_features.add("aarch64")

tools = ["mpt-opt", "mpt-run", "mpt-bisect", "mpt-compile", "mpt-lsp-server"]
tool_dirs = [os.path.join(config.mpt_obj_root, "bin"), config.llvm_tools_dir]
llvm_config.add_tool_substitutions(
    [tool for tool in tools if os.path.exists(os.path.join(tool_dirs[0], tool))]
    + ["mlir-opt", "not", "split-file", "count"],
    tool_dirs,
)
llvm_config.with_environment("PATH", tool_dirs, append_path=True)
