"""Compares fused attention and its gradients, on the stand-in for CUDA, with formulas in
f64, within bounds of first order that follow from what is rounded to f16: the scaled
query (not by cuDNN), probabilities, gradients of scores and results.

  check_attention.py LIB_DIR MPT_OPT MPT_COMPILE [cudnn]

The loss is a sum of attention's results times numbers, so that its gradient is exact.
"""
import dataclasses
import subprocess
import sys

import numpy as np

import standin_step
from standin_step import Step, encode

lib_dir, mpt_opt, mpt_compile, *by = sys.argv[1:]
standin_step.load(lib_dir)
# Half an ulp of f16, relative; half of its smallest number.
ROUNDING, TINY = 2.0**-11, 2.0**-25
SEED, STREAM, SCALE = 12345678901, 3, 1024.0
B = 2


@dataclasses.dataclass
class Case:
    width: int
    value_width: int
    queries: int
    keys: int
    groups: int = 0
    causal: bool = False
    mask: tuple = ()
    bias: tuple = ()
    dropout: float = 0.0
    # A value of seen and of the bias for all of the second row of the first head.
    row: float = None
    heads: int = 4
    # The last key is about 1 + grows times as large as the first one.
    grows: float = 0.0


def random_words(seed, stream, attempt, count):
    """Element i has word i mod 4 of block i / 4 (mpt/Support/Philox.h)."""
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    low = np.uint64(0xffffffff)
    c = [blocks & low, blocks >> np.uint64(32),
         np.full_like(blocks, attempt & 0xffffffff), np.full_like(blocks, attempt >> 32)]
    k = [seed & 0xffffffff, stream ^ (seed >> 32)]
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(q >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), q & low,
             (p >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), p & low]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return np.stack(c, axis=1).reshape(-1)[:count]


def write_model(case):
    H = case.heads
    tensors = {"q": (B, H, case.queries, case.width), "k": (B, case.groups, case.keys, case.width),
               "v": (B, case.groups, case.keys, case.value_width)}
    if case.bias:
        tensors["bias"] = case.bias
    of = lambda shape, kind="f32": "tensor<%sx%s>" % ("x".join(map(str, shape)), kind)
    result = of((B, H, case.queries, case.value_width))
    arguments = ['%%%s: %s {mpt.name = "%s", mpt.role = "parameter"}' % (name, of(shape), name)
                 for name, shape in tensors.items()]
    arguments.append('%%g: %s {mpt.name = "g", mpt.role = "input"}' % result)
    operands, types, attributes, body = "%q, %k, %v", [of(tensors[n]) for n in "qkv"], [], ""
    if case.mask:
        arguments.append('%%seen: %s {mpt.name = "seen", mpt.role = "input"}' % of(case.mask))
        body = ('  %%zero = mpt.constant dense<0.0> : tensor<f32>\n  %%mask = mpt.compare %%seen, '
                '%%zero {predicate = #mpt.predicate<gt>} : (%s, tensor<f32>) -> %s\n'
                % (of(case.mask), of(case.mask, "i1")))
        operands += ", %mask"
        types.append(of(case.mask, "i1"))
    if case.bias:
        operands += " bias(%bias)"
        types.append(of(case.bias))
    if case.dropout:
        for name in ("seed", "attempt"):
            arguments.append('%%%s: tensor<i64> {mpt.name = "%s", mpt.role = "rng"}' % (name, name))
        operands += " rng(%seed, %attempt)"
        types += ["tensor<i64>"] * 2
        attributes += ["dropout = %r : f64" % case.dropout, "stream = %d : i64" % STREAM]
    if case.causal:
        attributes.append("causal")
    text = """func.func @loss(%s) -> (tensor<f32> {mpt.name = "loss"}) {
%s  %%y, %%lse = mpt.attention %s {%s} : (%s) -> (%s, %s)
  %%products = mpt.mul %%y, %%g : (%s, %s) -> %s
  %%loss = mpt.reduce %%products {axes = array<i64: 0, 1, 2, 3>, kind = #mpt.reduce_kind<sum>} : (%s) -> tensor<f32>
  return %%loss : tensor<f32>
}
""" % (", ".join(arguments), body, operands, ", ".join(attributes), ", ".join(types), result,
       of((B, H, case.queries)), result, result, result, result)
    with open("model.mlir", "w") as file:
        file.write(text)
    return tensors


def check(number, case):
    H = case.heads
    tensors = write_model(case)
    subprocess.run([mpt_opt, "model.mlir", "--mpt-mixed-precision=type=f16 optimizer=adam", "-o",
                    "step.mlir"], check=True)
    path = "step%d.so" % number
    remarks = subprocess.run([mpt_compile, "step.mlir", "--target=cuda", "--chip=sm_90",
                              "--emulated-kernels", "--remarks", "-o", path]
                             + ["--attention=" + name for name in by], check=True,
                             stderr=subprocess.PIPE, text=True).stderr
    assert "attention-decomposed" not in remarks and "without-cudnn" not in remarks, remarks
    random = np.random.default_rng(number)
    # Parameters that f16 has.
    values = {name: random.uniform(-1, 1, shape).astype(np.float16).astype(np.float64)
              for name, shape in tensors.items()}
    if case.grows:
        growth = 1 + case.grows * np.arange(case.keys)[:, None] / case.keys
        values["k"] = (values["k"] * growth).astype(np.float16).astype(np.float64)
    values["g"] = random.integers(-8, 9, (B, H, case.queries, case.value_width)) / 8.0
    values["seen"] = random.uniform(-0.3, 1, case.mask) if case.mask else None
    if case.row is not None:
        for name in ("bias", "seen"):
            if values.get(name) is not None:
                values[name][0, 0, 1] = case.row
    step = Step(path, True)
    for tensor in step.tensors:
        role, name, kind = tensor.role.decode(), tensor.name.decode(), tensor.type.decode()
        if role == "output":
            continue
        count = int(np.prod([tensor.dims[d] for d in range(tensor.rank)]))
        given = values.get(name)
        special = {"seed": SEED, "loss_scale": SCALE, "lr": 0.001}
        step.give(tensor, encode(kind, [special.get(name, 0)] * count if given is None
                                 else [float(x) for x in given.reshape(-1)]))
    calls = standin_step.standin.mpt_standin_calls(b"cudnnBackendExecute")
    step.run()
    calls = standin_step.standin.mpt_standin_calls(b"cudnnBackendExecute") - calls
    assert calls == (2 if by else 0), (case, calls, standin_step.runtime.mpt_rt_notes(step.rt))
    found = {name: np.array(x) for (_, name), x in step.read().items()}

    q, k, v, g = (values[n] for n in "qkvg")
    k, v = (np.repeat(x, H // case.groups, axis=1) for x in (k, v))
    T = lambda x: np.swapaxes(x, -1, -2)
    factor = 1 / np.sqrt(case.width)
    scores = factor * q @ T(k)
    # Products and their sums in f32 add less than a hundredth of this.
    score_error = 1.1 * ROUNDING * factor * np.abs(q) @ T(np.abs(k)) + 2.0**-20
    if case.bias:
        # The sum is f32: scores beside -10^9 are all the same.
        scores = (scores + values["bias"]).astype(np.float32).astype(np.float64)
    visible = np.ones(scores.shape, bool)
    if case.causal:
        visible &= np.tril(np.ones((case.queries, case.keys), bool), case.keys - case.queries)
    if case.mask:
        visible &= values["seen"] > 0
    scores = np.where(visible, scores, -np.inf)
    most = np.maximum(scores.max(-1, keepdims=True), -1e39)
    p = np.exp(scores - most)
    sums = p.sum(-1, keepdims=True)
    p /= np.where(sums == 0, 1, sums)
    kept = np.ones(p.shape)
    if case.dropout:
        words = random_words(SEED, STREAM, 0, p.size).reshape(p.shape)
        kept = (words >= np.uint64(case.dropout * 2.0**32)) / (1 - case.dropout)
    used = p * kept
    # Both the power and the sum of powers have the error of scores; ex2.approx has 2^-22.
    relative = 2 * score_error.max(-1, keepdims=True) + 2.0**-20
    y = used @ v
    y_error = (relative + ROUNDING) * (used @ np.abs(v)) + ROUNDING * np.abs(y) + TINY
    dot = (g * y).sum(-1, keepdims=True)
    dot_error = (np.abs(g) * y_error).sum(-1, keepdims=True)
    slopes = kept * (g @ T(v))
    dscores = p * (slopes - dot)
    dscores_error = 1.01 * (relative * np.abs(dscores) + p * dot_error + ROUNDING * np.abs(dscores)
                            + TINY / SCALE) + 2.0**-20 * p * (np.abs(slopes) + np.abs(dot))
    sum_heads = lambda x: x.reshape(B, case.groups, H // case.groups, *x.shape[2:]).sum(2)
    # cuDNN rounds the gradients of shared heads before it adds them.
    each = ROUNDING if by and case.groups != H else 0
    k_grads, v_grads = factor * T(dscores) @ q, T(used) @ g
    wanted = {"q": (factor * dscores @ k, factor * dscores_error @ np.abs(k)),
              "k": (sum_heads(k_grads), sum_heads(each * np.abs(k_grads) + factor * T(
                  dscores_error + ROUNDING * np.abs(dscores)) @ np.abs(q))),
              "v": (sum_heads(v_grads), sum_heads(each * np.abs(v_grads) + T(
                  (relative + ROUNDING) * used + TINY) @ np.abs(g)))}
    if case.bias:
        axes = tuple(i for i in range(4) if case.bias[i] == 1)
        wanted["bias"] = (dscores.sum(axes, keepdims=True), dscores_error.sum(axes, keepdims=True))
    shown = []
    for name, (gradient, error) in wanted.items():
        # Adam's first average is a tenth of the gradient.
        got = 10 * found[name + ".exp_avg"].reshape(gradient.shape)
        allowed = 1.01 * error + ROUNDING * np.abs(gradient) + TINY / SCALE + 1e-6 * np.abs(gradient)
        # NaN is above all bounds.
        worst = np.where(np.isnan(got), np.inf, np.abs(got - gradient) / allowed).max()
        assert worst <= 1, (case, name, worst)
        # A bound that says nothing would be no test.
        # (Sums over all keys are 0.)
        assert (error.mean() < np.abs(gradient).mean() + 1e-4
                or name == "bias" and case.bias[3] == 1), (case, name, "bound too wide")
        shown.append("%s %.2f" % (name, worst))
    loss, loss_error = (g * y).sum(), (np.abs(g) * y_error).sum()
    assert abs(found["loss"][0] - loss) <= loss_error + 1e-5 * np.abs(g * y).sum(), (case, loss)
    print("%s: parts of the bounds: %s" % (case, ", ".join(shown)))
    standin_step.runtime.mpt_rt_destroy(step.rt)


cases = [
    Case(40, 40, 70, 77, causal=True),
    Case(72, 72, 65, 65, groups=2),
    Case(80, 80, 33, 130, mask=(B, 1, 1, 130)),
    Case(96, 64, 70, 70, causal=True, bias=(1, 4, 70, 70)),
    Case(160, 160, 30, 70, dropout=0.25),
    Case(192, 128, 66, 71, groups=2, causal=True, dropout=0.1),
    Case(256, 256, 20, 67, causal=True, bias=(B, 1, 20, 67)),
    Case(256, 200, 70, 70, causal=True, dropout=0.2),
    # Biases that all queries share, or all keys.
    Case(32, 32, 70, 131, causal=True, bias=(1, 4, 1, 131)),
    Case(136, 136, 130, 70, bias=(B, 1, 1, 70), mask=(1, 1, 130, 70), dropout=0.25),
    Case(32, 32, 67, 150, causal=True, bias=(1, 4, 67, 1)),
    # Heads enough for 32 rows a warp, whose operands do not all fit registers in the last two;
    # with tiles that end with the rows.
    Case(16, 24, 130, 131, heads=128, causal=True),
    Case(64, 64, 129, 150, heads=128, causal=True),
    Case(56, 64, 128, 192, heads=128, groups=64, mask=(1, 1, 128, 192)),
    Case(33, 50, 67, 70, groups=1, causal=True, mask=(1, 1, 67, 70), bias=(1, 1, 67, 70), dropout=0.5),
    # Rows that a bias hides as a whole.
    Case(32, 32, 20, 67, bias=(B, 1, 20, 67), row=-1e9),
    Case(64, 48, 70, 70, groups=2, bias=(1, 4, 70, 70), row=-3e38, dropout=0.25),
    Case(256, 256, 20, 67, causal=True, bias=(B, 4, 20, 1), row=-1e9),
    # The largest scores are among the last keys: what was summed before is scaled.
    Case(64, 64, 70, 260, grows=10),
]
# Neither dropout nor other head sizes of values than of queries.
if by:
    cases = [
        Case(40, 40, 70, 70, causal=True, mask=(B, 1, 1, 70)),
        Case(64, 64, 33, 77, groups=2, mask=(B, 4, 33, 77), row=-1.0),
        Case(32, 32, 20, 67, bias=(1, 4, 20, 67)),
        Case(32, 32, 20, 67, bias=(B, 1, 20, 67), row=-np.inf),
        Case(64, 64, 66, 66, groups=1, causal=True, mask=(1, 1, 66, 1), bias=(1, 4, 66, 66)),
    ]
for number, case in enumerate(cases):
    case.groups = case.groups or case.heads
    check(number, case)
assert standin_step.standin.mpt_standin_breach() == b""
print("%d cases are within their bounds" % len(cases))
