"""Trains models with complex numbers by mpt.torch.TrainStep, next to PyTorch.

check_complex.py [--cuda=LIBRARY] [NAME..]: a line for each model, on the CPU or with MPT's
stand-in for CUDA. In f32 the losses of three steps of AdamW
must be as near to PyTorch's in f64 as PyTorch's own in f32 are, times 8, and so must all
parameters afterwards; `bf16` counts as equal where the first loss is within 2 %.
"""
import sys
import warnings

import torch
from torch import nn

import mpt.torch

warnings.filterwarnings("ignore")
MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


class Rotary(nn.Module):
    """A block of Meta's Llama with its rotary embedding."""

    def __init__(self, dim=32, heads=4, length=12):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.norm = nn.RMSNorm(dim)
        rates = 1.0 / 10000 ** (torch.arange(0, dim // heads, 2).float() / (dim // heads))
        angles = torch.outer(torch.arange(length).float(), rates)
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(angles), angles),
                             persistent=False)

    def rotate(self, x):
        pairs = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32)
        z = torch.view_as_complex(pairs.reshape(*x.shape[:-1], -1, 2))
        freqs_cis = self.freqs_cis.view(1, z.shape[1], 1, z.shape[3])
        return torch.view_as_real(z * freqs_cis).flatten(3).type_as(x)

    def forward(self, x):
        n, t, _ = x.shape
        q, k, v = (y.view(n, t, self.heads, -1) for y in self.qkv(self.norm(x)).chunk(3, -1))
        q, k = self.rotate(q), self.rotate(k)
        y = nn.functional.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return x + self.out(y.transpose(1, 2).flatten(2))


class SpectralConvolution(nn.Module):
    """A layer of a Fourier neural operator: complex weights for the lowest frequencies."""

    def __init__(self, channels, modes):
        super().__init__()
        self.modes = modes
        shape = (channels, channels, modes, modes)
        self.low = nn.Parameter(torch.randn(*shape, dtype=torch.cfloat) / channels)
        self.high = nn.Parameter(torch.randn(*shape, dtype=torch.cfloat) / channels)

    def forward(self, x):
        n, c, h, w = x.shape
        m = self.modes
        z = torch.fft.rfft2(x)
        out = torch.zeros(n, c, h, w // 2 + 1, dtype=z.dtype)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", z[:, :, :m, :m], self.low)
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", z[:, :, -m:, :m], self.high)
        return torch.fft.irfft2(out, s=(h, w))


class FNO(nn.Module):
    def __init__(self, channels=8, modes=3):
        super().__init__()
        self.lift, self.project = nn.Conv2d(1, channels, 1), nn.Conv2d(channels, 1, 1)
        self.spectral = nn.ModuleList(SpectralConvolution(channels, modes) for _ in range(2))
        self.pointwise = nn.ModuleList(nn.Conv2d(channels, channels, 1) for _ in range(2))

    def forward(self, x):
        x = self.lift(x)
        for spectral, pointwise in zip(self.spectral, self.pointwise):
            x = nn.functional.gelu(spectral(x) + pointwise(x))
        return self.project(x)


class GFNet(nn.Module):
    """A block of a global filter network: weights as pairs of real numbers."""

    def __init__(self, dim=16, size=14):
        super().__init__()
        self.size = size
        self.filter = nn.Parameter(torch.randn(size, size // 2 + 1, dim, 2) * 0.1)
        self.norm, self.mlp = nn.LayerNorm(dim), nn.Linear(dim, dim)

    def forward(self, x):
        n, count, c = x.shape
        y = self.norm(x).view(n, self.size, self.size, c)
        z = torch.fft.rfft2(y, dim=(1, 2), norm="ortho")
        z = z * torch.view_as_complex(self.filter)
        y = torch.fft.irfft2(z, s=(self.size, self.size), dim=(1, 2), norm="ortho")
        return x + self.mlp(y.reshape(n, count, c))


class LongConvolution(nn.Module):
    """A convolution as long as the sequence, as S4 and Hyena have it: the kernel is a sum of
    decaying oscillations."""

    def __init__(self, channels=6, states=4):
        super().__init__()
        self.step = nn.Parameter(torch.rand(channels) * 2 - 4)
        self.decay = nn.Parameter(torch.zeros(channels, states))
        self.rate = nn.Parameter(torch.arange(states).float().repeat(channels, 1))
        self.scale = nn.Parameter(torch.randn(channels, states, 2))

    def forward(self, u):
        length = u.shape[-1]
        a = -torch.exp(self.decay) + 1j * self.rate
        z = a * torch.exp(self.step)[:, None]
        c = torch.view_as_complex(self.scale) * (torch.exp(z) - 1.0) / a
        kernel = 2 * torch.einsum(
            "hn,hnl->hl", c, torch.exp(z[..., None] * torch.arange(length))).real
        spectrum = torch.fft.rfft(u, n=2 * length) * torch.fft.rfft(kernel, n=2 * length)
        return torch.fft.irfft(spectrum, n=2 * length)[..., :length]


@model
def rotary():
    return (nn.Sequential(Rotary(), Rotary()), lambda m, x, y: (m(x) - y).square().mean(),
            (torch.randn(2, 12, 32), torch.randn(2, 12, 32)))


@model
def fnet():
    import transformers
    config = transformers.FNetConfig(vocab_size=50, hidden_size=24, num_hidden_layers=2,
                                     intermediate_size=32, hidden_dropout_prob=0.0)
    x = torch.randint(3, 50, (2, 15))
    return (transformers.FNetForMaskedLM(config),
            lambda m, x, y: m(input_ids=x, labels=y).loss, (x, x))


@model
def fno():
    return (FNO(), lambda m, x, y: (m(x) - y).square().mean(),
            (torch.randn(2, 1, 12, 10), torch.randn(2, 1, 12, 10)))


@model
def gfnet():
    return (nn.Sequential(GFNet(), GFNet()), lambda m, x, y: (m(x) - y).square().mean(),
            (torch.randn(2, 196, 16), torch.randn(2, 196, 16)))


@model
def long_convolution():
    return (LongConvolution(), lambda m, x, y: (m(x) - y).square().mean(),
            (torch.randn(2, 6, 200), torch.randn(2, 6, 200)))


@model
def stft_loss():
    """Magnitudes, their logarithms, and the angles between two spectra, at two resolutions."""
    def loss(m, x, y):
        out = m(x[:, None])[:, 0]
        total = (out - y).square().mean()
        for size, hop in ((64, 16), (48, 20)):
            window = torch.hann_window(size, dtype=out.dtype)
            a, b = (torch.stft(v, size, hop, window=window, return_complex=True)
                    for v in (out, y))
            total = total + (a.abs() - b.abs()).norm() / b.abs().norm() \
                + (torch.log(a.abs() + 1e-3) - torch.log(b.abs() + 1e-3)).abs().mean() \
                + 0.1 * (1 - torch.cos((a * b.conj()).angle())).mean()
        return total

    return (nn.Sequential(nn.Conv1d(1, 4, 5, padding=2), nn.Tanh(), nn.Conv1d(4, 1, 5, padding=2)),
            loss, (torch.randn(2, 400), torch.randn(2, 400)))


@model
def spectral_mask():
    """A mask of a spectrum, and back in time."""
    def loss(m, x, y):
        window = torch.hann_window(32, dtype=x.dtype)
        z = torch.stft(x, 32, 8, window=window, return_complex=True)
        mask = torch.sigmoid(m(z.abs().transpose(1, 2))).transpose(1, 2)
        back = torch.istft(z * mask, 32, 8, window=window, length=x.shape[-1])
        return (back - y).square().mean()

    return nn.Linear(17, 17), loss, (torch.randn(2, 160), torch.randn(2, 160))


def to(tensors, dtype):
    return tuple(t.to(dtype) if t.is_floating_point() else t for t in tensors)


def train(module, loss, batch):
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(module, *batch)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses, module.state_dict()


def make(name):
    torch.manual_seed(0)
    return MODELS[name]()


def widen(module):
    """In f64, complex tensors too, which Module.double() leaves."""
    return module._apply(lambda t: t.to(torch.complex128) if t.is_complex() else
                         t.double() if t.is_floating_point() else t)


def check(name, device):
    module, loss, batch = make(name)
    theirs, their_state = train(module, loss, batch)
    module, loss, batch = make(name)
    exact, exact_state = train(widen(module), loss, to(batch, torch.float64))
    problems, described = [], []
    for precision in ("f32", "bf16"):
        module, loss, batch = make(name)
        step = mpt.torch.TrainStep(module, loss, example=batch, precision=precision,
                                   optimizer=torch.optim.AdamW(module.parameters(), lr=1e-3),
                                   **device)
        losses = [step(*batch).loss for _ in range(3)]
        described.append(f"{precision} {losses[0]:.5f} to {losses[2]:.5f}")
        if precision == "bf16":
            if not abs(losses[0] - exact[0]) <= 0.02 * abs(exact[0]) or losses[2] >= losses[0]:
                problems.append(f"bf16: losses {losses}, PyTorch {exact}")
            continue
        for mine, other, right in zip(losses, theirs, exact):
            if not abs(mine - right) <= 8 * abs(other - right) + 1e-5 * abs(right):
                problems.append(f"losses {losses}, PyTorch {theirs}, in f64 {exact}")
                break
        state = step.state_dict()
        if state.keys() != exact_state.keys():
            problems.append("other keys in state_dict()")
        for key, right in exact_state.items():
            if state[key].dtype != their_state[key].dtype:
                problems.append(f"{key} is {state[key].dtype}")
            error, allowed = ((v.to(right.dtype) - right).norm().item()
                              for v in (state[key], their_state[key]))
            # A parameter whose gradient is rounding alone goes a step of lr either way.
            if not error <= 8 * allowed + 1e-5 * right.norm().item():
                problems.append(f"{key} differs by {error:.2e}, PyTorch's by {allowed:.2e}")
    print(f"{name}: {', '.join(described)}: {'DIFFERS' if problems else 'equal'}", flush=True)
    for problem in problems:
        print(f"  {problem}")
    return not problems


if __name__ == "__main__":
    torch.set_num_threads(1)
    names, device = sys.argv[1:], {}
    if names and names[0].startswith("--cuda="):
        library = names.pop(0).removeprefix("--cuda=")
        device = {"device": "cuda", "cuda": {"cudart": library, "cublaslt": library,
                                             "emulated_kernels": True}}
    # All are checked.
    results = [check(name, device) for name in names or MODELS]
    sys.exit(not all(results))
