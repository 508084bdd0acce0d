"""mpt.torch.TrainStep(optimizer_state=): check_optimizer_state.py FOLDER"""
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

import mpt
import mpt.torch
from mpt._training.blockwise import quantize_blockwise

folder, = sys.argv[1:]
torch.manual_seed(0)
batches = [(torch.randn(8, 64), torch.randint(0, 80, (8,))) for _ in range(6)]


def make(optimizer_state="f32", kind=torch.optim.AdamW, **options):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 80))
    groups = [{"params": model[0].parameters()},
              {"params": model[2].parameters(), "weight_decay": 0.1}]
    optimizer = kind(groups, lr=0.01, **options)
    return mpt.torch.TrainStep(model, lambda model, x, y: F.cross_entropy(model(x), y), optimizer,
                               batches[0], optimizer_state=optimizer_state, threads=1)


def train(step, some):
    return [float(step(*batch).loss) for batch in some]


def types(step):
    return [step._state[name].type for layer in "02"
            for name, _ in step._reader.state_of(f"{layer}.weight").values() if name != "step"]


def moments(step):
    return {(i, key): value for i, state in step.optimizer_state_dict()["state"].items()
            for key, value in state.items() if key != "step"}


# The first step has the same gradients, so moments differ by their rounding alone: by at most
# half of what two numbers of a code book lie apart, and at the end of -1 by all of it.
wide, narrow = make(), make("block8")
train(wide, batches[:1]), train(narrow, batches[:1])
print("types:", types(narrow), [narrow._state[f"0.bias.{m}"].type for m in ("exp_avg",)])
kept = moments(wide)
for (i, key), value in moments(narrow).items():
    expected = kept[i, key]
    if value.numel() < 4096:
        print("small:", key, torch.equal(value, expected))
        continue
    nonnegative = key == "exp_avg_sq"
    blocks = expected.reshape(-1)
    blocks = F.pad(blocks, (0, -len(blocks) % 256)).reshape(-1, 256)
    absmax = blocks.abs().amax(1).repeat_interleave(256)[:value.numel()].reshape(value.shape)
    bound = 0.9 / 128 * (0.501 if nonnegative else 1.001) * absmax
    codes, _ = quantize_blockwise(expected, 256, nonnegative)
    found = narrow._read(f"{'02'[i // 2]}.weight.{key}")
    apart = (codes.view(torch.uint8).int() - found.view(torch.uint8).int()).abs()
    print("rounded:", key, bool(((value - expected).abs() <= bound).all()),
          "not equal:", not torch.equal(value, expected),
          "codes:", int(apart.max()) <= 1, int((apart != 0).sum()) <= 1e-3 * value.numel())

# State of torch's form goes to a step of any kind.
for kind in ("block8", "bf16", "f32"):
    other = make(kind)
    other.load_state_dict(narrow.state_dict())
    other.load_optimizer_state_dict(narrow.optimizer_state_dict())
    given, taken = moments(narrow), moments(other)
    print("taken over by", kind, all(torch.allclose(taken[k], given[k], rtol=2**-8, atol=0.008
                                                    * given[k].abs().max().item())
                                     for k in given))

# A checkpoint has the bits.
path = os.path.join(folder, "step.safetensors")
whole = make("block8 rounding=stochastic block-size=512")
losses = train(whole, batches)
first = make("block8 rounding=stochastic block-size=512")
begun = train(first, batches[:3])
first.save(path)
rest = make("block8 rounding=stochastic block-size=512")
rest.load(path)
print("resumed:", begun + train(rest, batches[3:]) == losses)
wide = make()
print("near f32:", max(abs(a - b) for a, b in zip(losses, train(wide, batches))) < 0.02)

print("groups:", types(make(["f32", "block8"])), types(make(["bf16", "block8"])),
      types(make(["f32", "f32"])), types(make("block8 groups=^0=f32")))
print("momentum:", types(make("bf16", torch.optim.SGD, momentum=0.9)))
for wrong in ("int8", ["block8"], ["f32", "f64"], 8, "block8 block-size=100", "block8 blocks=2"):
    try:
        make(wrong)
        print("NOT REFUSED")
    except mpt.Error as error:
        print("refused:", str(error).splitlines()[0])
