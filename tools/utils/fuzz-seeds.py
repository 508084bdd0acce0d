"""fuzz-seeds.py --out DIR [--mpt-opt FILE] [--mpt-compile FILE] [--extra DIR]... [--most N]

Writes what the fuzzers of test/fuzz start from, one folder per fuzzer:
  autocast, passes   the modules of all tests with the pipelines of their RUN lines, the
                     modules (*.mlir) in each --extra folder, and, where the Python that
                     runs this has JAX, the StableHLO that JAX prints of a few steps;
                     of large modules, pieces
  npy, npz, safetensors, checkpoint, ranges   small files of each kind
  policy, rules      lib/Precision/Presets, lib/Precision/Rules, the YAML of all tests
  program, program-file   programs that mpt-compile makes of the tests' modules
Without --mpt-opt the passes are those that RUN lines name; without --mpt-compile there
are no programs. --most N leaves so many for each fuzzer, of as many dialects as there are.
"""

import argparse
import collections
import ctypes
import hashlib
import io
import itertools
import json
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Larger seeds make a fuzzer slow and find no more.
LARGEST = 16000


class Seeds:
    def __init__(self, out, fuzzer):
        self.folder = out / fuzzer
        self.folder.mkdir(parents=True, exist_ok=True)

    def add(self, data):
        if isinstance(data, str):
            data = data.encode()
        if data and len(data) <= LARGEST:
            (self.folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


# --- modules ---------------------------------------------------------------------


def strip_comments(text):
    lines = [line for line in text.splitlines()
             if line.strip() and not line.lstrip().startswith("//")]
    return "\n".join(lines) + "\n" if len(lines) > 1 else ""


def split_modules(text):
    return [module for part in re.split(r"^// -----.*$|^//--- .*$", text, flags=re.M)
            if (module := strip_comments(part))]


def split_types(text):
    """`a, b<c, d>` -> [a, b<c, d>]"""
    types, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "<([{") - (char in ")]}") - (char == ">" and text[at - 1] != "-")
        if char == "," and depth == 0:
            types.append(text[start:at].strip())
            start = at + 1
    return types + [text[start:].strip()] if text.strip() else []


def read_signature(line):
    """Types of operands and of results at the end of an op in generic form."""
    if not (match := re.search(r" : \(((?:(?! : \().)*)\) -> (.+)$", line)):
        return [], []
    results = match[2][1:-1] if match[2].startswith("(") else match[2]
    return split_types(match[1]), split_types(results)


def cut_module(text, mpt_opt, ops=40):
    """What is too large for a seed, in pieces: functions of `ops` ops each, in order,
    which take what ops before them made."""
    generic = subprocess.run([mpt_opt, "--allow-unregistered-dialect", "--mlir-print-op-generic",
                              "-"], input=text, capture_output=True, text=True)
    if generic.returncode != 0:
        return
    blocks, types = [], {}
    for line in generic.stdout.splitlines():
        indent = len(line) - len(line.lstrip())
        if indent == 2:  # another function
            blocks, types = [], {}
        elif indent == 4 and line[4] not in "}^":
            blocks.append([line])
        elif indent >= 4 and blocks:
            blocks[-1].append(line)
        for name, kind in re.findall(r"(%\w+): ([^%]+)[,)]", line) if "^bb" in line else []:
            types[name] = kind
        if match := re.match(r" *(%\w+)(?::\d+)? = ", line):
            types[match[1]] = None
        if indent == 4 and blocks and (match := re.match(r" *(%\w+)", blocks[-1][0])):
            results = read_signature(line)[1]
            types[match[1]] = results[0] if results else None
            for index, kind in enumerate(results):
                types[f"{match[1]}#{index}"] = kind
        if indent == 4 and "func.return" in line:
            yield from join_blocks(blocks[:-1], types, ops)
            blocks = []


def join_blocks(blocks, types, ops):
    for start in range(0, len(blocks), ops):
        lines = [line for block in blocks[start:start + ops] for line in block]
        body = "\n".join(lines)
        made = set(re.findall(r"^ *(%\w+)(?::\d+)? = ", body, flags=re.M))
        made |= {name for line in lines if "^bb" in line for name in re.findall(r"%\w+", line)}
        free = sorted({name for name in re.findall(r"%\w+(?:#\d+)?", body)
                       if name.split("#")[0] not in made})
        if not all(types.get(name) for name in free):
            continue
        # One of several results becomes an argument.
        names = {name: re.sub(r"%(\d+)#", r"%r\1_", name) for name in free}
        for name in free:
            body = re.sub(re.escape(name) + r"(?![\w#])", names[name], body)
        arguments = ", ".join(f"{names[name]}: {types[name]}" for name in free)
        results = [re.match(r" *(%\w+) = ", block[0]) for block in blocks[start:start + ops]]
        results = [match[1] for match in results if match and types.get(match[1])][-3:]
        kinds = ", ".join(types[name] for name in results)
        yield (f"func.func @piece({arguments}) -> ({kinds}) {{\n{body}\n"
               f"  return {', '.join(results)}{' : ' + kinds if results else ''}\n}}\n")


def read_pipelines(text, known):
    """The pass pipelines of a test's RUN lines, as mpt-opt's --pass-pipeline has them.
    `known` are mpt-opt's passes."""
    text = re.sub(r"\\\n\s*(//|#)?\s*RUN:", " ", text)
    for line in re.findall(r"RUN:(.*)", text):
        for command in re.split(r"\||&&|;", line):
            try:
                words = shlex.split(command, posix=True)
            except ValueError:
                continue
            if "mpt-opt" not in words:
                continue
            pipeline = []
            for word in words[words.index("mpt-opt") + 1:]:
                if match := re.fullmatch(r"--?pass-pipeline=builtin\.module\((.*)\)", word):
                    pipeline.append(match[1])
                    continue
                match = re.fullmatch(r"--?([a-z0-9-]+)(?:=(.*))?", word, flags=re.S)
                if match and match[1] in known:
                    options = f"{{{match[2]}}}" if match[2] else ""
                    pipeline.append(match[1] + options)
            pipeline = ",".join(pipeline)
            # Files are not for a fuzzer.
            if pipeline and not re.search(r"[%/\n]", pipeline):
                yield pipeline


def list_passes(mpt_opt):
    """All passes and pipelines of mpt-opt, or those of MPT that RUN lines name."""
    if mpt_opt:
        help_text = subprocess.run([mpt_opt, "--help"], capture_output=True, text=True,
                                   check=True).stdout
        passes = set(re.findall(r"^ {6,}--([a-z0-9-]+) +-  ", help_text, flags=re.M))
        passes |= set(re.findall(r"^ {6,}--(mpt-[a-z0-9-]+) +- ", help_text, flags=re.M))
    else:
        passes = {"canonicalize", "cse", "inline", "symbol-dce"}
        for path in (SOURCE / "test").rglob("*.mlir"):
            passes |= set(re.findall(r"RUN:.*?--(mpt-[a-z-]+)", path.read_text()))
    return passes


def print_jax_modules():
    """StableHLO of training steps, as JAX prints it."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return []

    def mlp(w, v, x, t):
        return jnp.mean((jnp.tanh(x @ w) @ v - t) ** 2)

    def attention(q, k, v):
        return jnp.sum(jax.nn.softmax(q @ k.T / 2, axis=-1) @ v)

    def convolution(x, f):
        y = jax.lax.conv_general_dilated(x, f, (1, 1), "SAME",
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
        y = jax.lax.reduce_window(jax.nn.relu(y), -jnp.inf, jax.lax.max, (1, 2, 2, 1),
                                  (1, 2, 2, 1), "VALID")
        return jnp.mean(y)

    def recurrence(w, x):
        return jnp.sum(jax.lax.scan(lambda h, row: (jnp.tanh(h @ w + row), h),
                                    x[0] * 0, x)[0])

    def loop(x):
        return jnp.sum(jax.lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * i, x))

    def choice(x, p):
        return jax.lax.cond(p > 0, lambda y: jnp.sum(y), lambda y: jnp.max(y), x)

    def gather(table, indices):
        return jnp.sum(table[indices] ** 2) + jnp.sum(jnp.sort(table))

    f32 = lambda *shape: jnp.zeros(shape, jnp.float32)
    cases = [
        (jax.value_and_grad(mlp, (0, 1)), (f32(3, 4), f32(4, 2), f32(5, 3), f32(5, 2))),
        (jax.grad(attention, (0, 1, 2)), (f32(4, 4), f32(4, 4), f32(4, 4))),
        (jax.grad(convolution, 1), (f32(1, 4, 4, 2), f32(3, 3, 2, 2))),
        (jax.grad(recurrence), (f32(3, 3), f32(5, 3))),
        (loop, (f32(4),)),
        (choice, (f32(4), jnp.int32(1))),
        (jax.grad(gather), (f32(6, 2), jnp.zeros(3, jnp.int32))),
    ]
    modules = []
    for function, arguments in cases:
        lowered = jax.jit(function).lower(*arguments).compiler_ir("stablehlo")
        # As mpt-opt reads it, which does not know the dialect.
        modules.append(lowered.operation.get_asm(print_generic_op_form=True))
    return modules


def write_modules(out, arguments):
    passes = list_passes(arguments.mpt_opt)
    mpt_passes = sorted(name for name in passes if name.startswith("mpt-"))
    autocast, through = Seeds(out, "autocast"), Seeds(out, "passes")
    tests = sorted((SOURCE / "test").rglob("*.mlir")) + sorted((SOURCE / "docs").rglob("*.mlir"))
    extra = [path for folder in arguments.extra for path in sorted(folder.rglob("*.mlir"))]
    texts = [path.read_text() for path in tests + extra] + print_jax_modules()
    if arguments.mpt_opt:
        texts += [piece for text in texts if len(text) > LARGEST and "// -----" not in text
                  for piece in cut_module(text, arguments.mpt_opt)]
    turn = 0
    for text in texts:
        pipelines = sorted(set(read_pipelines(text, passes)))
        for module in split_modules(text):
            name = hashlib.sha1(module.encode()).hexdigest()
            for choice in (int(name[:2], 16) & 0x1F, int(name[2:4], 16) | 0xF0):
                autocast.add(bytes([choice]) + module.encode())
            # Each module through each of its test's pipelines, or some of many, and
            # through one pass more, in turn.
            for pipeline in pipelines[:: max(1, len(pipelines) // 3)]:
                through.add(f"// {pipeline}\n{module}")
            through.add(f"// {mpt_passes[turn % len(mpt_passes)]}\n{module}")
            turn += 1


# --- files -----------------------------------------------------------------------


def make_npy(descr, shape, data, order="False", version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def make_safetensors(tensors, metadata=None):
    sizes = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "BOOL": 1, "U8": 1}
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, (dtype, shape) in tensors.items():
        count = 1
        for size in shape:
            count *= size
        end = at + count * sizes[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + bytes(i % 7 for i in range(at))


def write_files(out):
    arrays = [
        make_npy("<f4", (2, 3), bytes(24)),
        make_npy("<f8", (), bytes(8)),
        make_npy("|b1", (4,), b"\0\1\2\3", version=2),
        make_npy(">i4", (2, 2), bytes(range(16)), order="True"),
        make_npy("<f2", (0, 3), b"", version=3),
        make_npy("|u1", (1, 2, 3), bytes(6)),
    ]
    npy, npz = Seeds(out, "npy"), Seeds(out, "npz")
    for array in arrays:
        npy.add(array)
    for count, method in ((1, zipfile.ZIP_STORED), (2, zipfile.ZIP_DEFLATED), (3, zipfile.ZIP_STORED)):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for index in range(count):
                archive.writestr(zipfile.ZipInfo(f"{'xyz'[index]}.npy"), arrays[index], method)
        npz.add(buffer.getvalue())
    safetensors, checkpoint = Seeds(out, "safetensors"), Seeds(out, "checkpoint")
    for tensors in ({"w": ("F32", [2, 3])}, {"a": ("F64", []), "b": ("BF16", [4])},
                    {"c": ("BOOL", [3]), "d": ("I64", [1]), "e": ("F16", [0, 2])}, {}):
        safetensors.add(make_safetensors(tensors))
        safetensors.add(make_safetensors(tensors, {"format": "pt"}))
    version = re.search(r'kVersion\[\] = "(.*?)"|kVersion = "(.*?)"',
                        (SOURCE / "include/mpt/Support/Version.h").read_text())
    state = {"mpt.checkpoint": "1", "mpt.version": version[1] or version[2],
             "mpt.attempt": "12", "mpt.skipped": "2", "mpt.seed": "7", "mpt.batch": "4",
             "mpt.rows": "64", "mpt.epoch": "0", "mpt.index": "12", "mpt.program": "abc"}
    checkpoint.add(make_safetensors({"w": ("F32", [2, 3])}, state))
    checkpoint.add(make_safetensors({"w": ("F32", [2]), "scale": ("F32", [])}, state))
    ranges = Seeds(out, "ranges")
    for edges in ([], [-24, -14, 15]):
        lines = [{"mpt_ranges": 1, "steps": 3, "skipped": 0, "types": ["f16", "bf16"],
                  "edges": edges}]
        for index in range(2):
            value = {"id": f"mpt.matmul@a.mlir:{index}:8", "result": 0, "op": "mpt.matmul",
                     "function": "step", "location": f"a.mlir:{index}:8",
                     "phase": "forward", "type": "f32", "elements": 24, "amax": 2.5,
                     "smallest": 0.125, "nan": 0, "inf": 0, "zero": 4,
                     "f16": {"underflow": 0, "subnormal": 0, "overflow": 0},
                     "bf16": {"underflow": 0, "subnormal": 0, "overflow": 0}}
            if edges:
                value["histogram"] = [0, 1, 19, 0]
            lines.append(value)
        ranges.add("".join(json.dumps(line) + "\n" for line in lines))


def write_yaml(out):
    policy, rules = Seeds(out, "policy"), Seeds(out, "rules")
    for path in sorted((SOURCE / "lib/Precision/Presets").glob("*.yaml")):
        policy.add(path.read_text())
    texts = [path.read_text() for path in sorted((SOURCE / "lib/Precision/Rules").glob("*.yaml"))]
    for path in sorted((SOURCE / "test").rglob("*")):
        if path.suffix in (".yaml", ".mlir", ".test") and path.is_file():
            texts += re.split(r"^(?://|#)--- .*$", path.read_text(), flags=re.M)
    for path in sorted((SOURCE / "docs").glob("*.md")):
        texts += re.findall(r"```yaml\n(.*?)```", path.read_text(), flags=re.S)
    for text in texts:
        if re.match(r"\s*(#.*\n)*\s*policy:", text):
            policy.add(text)
        elif re.match(r"\s*(#.*\n)*\s*(---\n)?dialect:", text):
            # Of a long table the first rows.
            rules.add(text if len(text) < 4000 else text[: text.rfind("\n", 0, 4000) + 1])


# --- programs --------------------------------------------------------------------


class Description(ctypes.Structure):
    """mpt_program_desc."""
    _fields_ = [("magic", ctypes.c_uint64), ("format_version", ctypes.c_uint64),
                ("table", ctypes.POINTER(ctypes.c_uint8)), ("table_size", ctypes.c_uint64)]


def write_programs(out, mpt_opt, mpt_compile):
    tables, files = Seeds(out, "program"), Seeds(out, "program-file")
    if not mpt_compile:
        return
    steps = [None]
    if mpt_opt:
        steps += [["--mpt-autodiff", "--mpt-train-step=optimizer=adam"],
                  ["--mpt-mixed-precision=type=f16 optimizer=sgd"]]
    step = out / "step.mlir"
    # The loader takes another file of the same name for the one that it has.
    names = (out.resolve() / f"program{number}.so" for number in itertools.count())
    for path in sorted((SOURCE / "test/Tools").rglob("*.mlir")):
        for passes in steps:
            source = path
            if passes:
                source = step
                command = [mpt_opt, str(path), *passes, "-o", str(step)]
                if subprocess.run(command, capture_output=True).returncode != 0:
                    continue
            library = next(names)
            command = [mpt_compile, str(source), "--mcpu=x86-64-v3", "-o", str(library)]
            if subprocess.run(command, capture_output=True).returncode != 0:
                continue
            program = Description.in_dll(ctypes.CDLL(str(library)), "mpt_program")
            tables.add(ctypes.string_at(program.table, program.table_size))
            data = library.read_bytes()
            if len(data) < 64000:
                (files.folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
            library.unlink()
    step.unlink(missing_ok=True)


def thin(folder, most):
    """Leaves `most` files: a third in turn of each set of dialects that one of them has, small
    ones first, and of the others evenly."""
    groups = collections.defaultdict(list)
    for path in sorted((path for path in folder.iterdir() if path.is_file()),
                       key=lambda path: (path.stat().st_size, path.name)):
        dialects = re.findall(rb"\b([a-z]\w*)\.[a-z]", path.read_bytes())
        groups[tuple(sorted(set(dialects)))].append(path)
    turns = itertools.zip_longest(*(groups[dialects] for dialects in sorted(groups)))
    in_turn = [path for turn in turns for path in turn if path]
    if len(in_turn) > most:
        others = sorted(in_turn[most // 3:])
        kept = {others[len(others) * i // (most - most // 3)]
                for i in range(most - most // 3)}
        for path in others:
            if path not in kept:
                path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--mpt-opt")
    parser.add_argument("--mpt-compile")
    parser.add_argument("--extra", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--most", type=int)
    arguments = parser.parse_args()
    write_modules(arguments.out, arguments)
    write_files(arguments.out)
    write_yaml(arguments.out)
    write_programs(arguments.out, arguments.mpt_opt, arguments.mpt_compile)
    if arguments.most is not None:
        for folder in sorted(path for path in arguments.out.iterdir() if path.is_dir()):
            thin(folder, arguments.most)


if __name__ == "__main__":
    sys.exit(main())
