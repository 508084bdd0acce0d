"""Networks of words, and of other sequences that are read one after the other."""

import math

import torch
from torch import nn
import torch.nn.functional as F

from .batches import integers
from .layers import Block


class Llama(nn.Module):
    """6 layers of width 512, 8 heads on 2 of keys, rotary positions, SwiGLU; 2 x 256 tokens."""

    def __init__(self, layers=6, width=512, heads=8, groups=2, vocabulary=4096):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.tokens, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary, bias=False)
        self.last, hidden = nn.RMSNorm(width), 1408

        def linear(inputs, outputs):
            return nn.Linear(inputs, outputs, bias=False)
        self.blocks = nn.ModuleList([nn.ModuleDict(dict(
            n0=nn.RMSNorm(width), q=linear(width, width), k=linear(width, groups * self.size),
            v=linear(width, groups * self.size), o=linear(width, width), n1=nn.RMSNorm(width),
            gate=linear(width, hidden), up=linear(width, hidden), down=linear(hidden, width)))
            for _ in range(layers)])

    def forward(self, x, y):
        b, t = x.shape
        angles = torch.outer(torch.arange(t).float(),
                             10000 ** (-torch.arange(0, self.size, 2).float() / self.size))
        cos, sin = (torch.cat([f, f], 1) for f in (angles.cos(), angles.sin()))

        def rotate(z):
            left, right = z.chunk(2, -1)
            return z * cos + torch.cat([-right, left], -1) * sin
        h = self.tokens(x)
        for block in self.blocks:
            z = block["n0"](h)
            q, k, v = (block[name](z).view(b, t, -1, self.size).transpose(1, 2) for name in "qkv")
            z = F.scaled_dot_product_attention(rotate(q).to(v.dtype), rotate(k).to(v.dtype), v,
                                               is_causal=True, enable_gqa=True)
            h = h + block["o"](z.transpose(1, 2).reshape(b, t, -1))
            z = block["n1"](h)
            h = h + block["down"](F.silu(block["gate"](z)) * block["up"](z))
        return F.cross_entropy(self.head(self.last(h)).flatten(0, 1).float(), y.flatten())


class Experts(nn.Module):
    """2 layers of width 256 as transformers' Qwen3-MoE, 4 of 32 experts of width 256; 4 x 128 tokens."""

    def __init__(self):
        super().__init__()
        import transformers
        self.model = transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(
            vocab_size=2000, hidden_size=256, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2,
            head_dim=32, intermediate_size=768, moe_intermediate_size=256, num_experts=32,
            num_experts_per_tok=4, use_cache=False))

    def forward(self, x, y):
        return self.model(input_ids=x, labels=y).loss


class Translator(nn.Module):
    """A GRU that reads, and a GRU cell that writes with attention to what was read (Luong et al. 2015)."""

    def __init__(self, vocabulary=64, width=64):
        super().__init__()
        self.source, self.target = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width)
        self.read, self.write = nn.GRU(width, width, batch_first=True), nn.GRUCell(2 * width, width)
        self.score, self.head = nn.Linear(width, width, bias=False), nn.Linear(2 * width, vocabulary)

    def forward(self, x, y):
        known, h = self.read(self.source(x))
        h, words, outputs = h[0], self.target(y), []
        seen = torch.zeros_like(h)
        for t in range(y.shape[1] - 1):
            h = self.write(torch.cat([words[:, t], seen], 1), h)
            weights = torch.einsum("btk,bk->bt", known, self.score(h)).softmax(1)
            seen = torch.einsum("bt,btk->bk", weights, known)
            outputs.append(torch.cat([h, seen], 1))
        z = self.head(torch.stack(outputs, 1)).float()
        return F.cross_entropy(z.flatten(0, 1), y[:, 1:].flatten())


class Mamba2(nn.Module):
    """Layers of a scan of which chunks are matmuls, as its paper's listing has it (Dao & Gu 2024)."""

    class Layer(nn.Module):
        def __init__(self, width, heads, states, chunk):
            super().__init__()
            self.heads, self.states, self.chunk, inner = heads, states, chunk, 2 * width
            self.sizes = inner, inner + 2 * states, heads
            self.norm, self.inner_norm = nn.LayerNorm(width), nn.LayerNorm(inner)
            self.up = nn.Linear(width, sum(self.sizes), bias=False)
            self.conv = nn.Conv1d(self.sizes[1], self.sizes[1], 4, groups=self.sizes[1], padding=3)
            self.rate, self.decay = nn.Parameter(torch.zeros(heads)), nn.Parameter(torch.zeros(heads))
            self.skip, self.down = nn.Parameter(torch.ones(heads)), nn.Linear(inner, width, bias=False)

        @staticmethod
        def sums(x):
            """Sums of the terms after each one up to each other; minus infinity above the diagonal."""
            size, ends = x.shape[-1], x.cumsum(-1)
            below = torch.ones(size, size, dtype=torch.bool).tril()
            return (ends[..., :, None] - ends[..., None, :]).masked_fill(~below, -math.inf)

        def scan(self, x, a, b, c):
            x, b, c = (z.unflatten(1, (-1, self.chunk)) for z in (x, b, c))
            a = a.unflatten(1, (-1, self.chunk)).permute(0, 3, 1, 2)
            ends = a.cumsum(-1)
            inside = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", c, b, self.sums(a).exp(), x)
            states = torch.einsum("bcln,bhcl,bclhp->bchpn", b, (ends[..., -1:] - ends).exp(), x)
            states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
            between = self.sums(F.pad(ends[..., -1], (1, 0))).exp()
            states = torch.einsum("bhzc,bchpn->bzhpn", between, states)[:, :-1]
            return (inside + torch.einsum("bcln,bchpn,bhcl->bclhp", c, states, ends.exp())).flatten(1, 2)

        def forward(self, x):
            gate, z, step = self.up(self.norm(x)).split(self.sizes, -1)
            z = F.silu(self.conv(z.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
            z, b, c = z.split((self.sizes[0], self.states, self.states), -1)
            z, step = z.unflatten(2, (self.heads, -1)), F.softplus(step + self.rate)
            y = self.scan(z * step[..., None], -self.decay.exp() * step, b, c) + self.skip[:, None] * z
            return x + self.down(self.inner_norm(y.flatten(2) * F.silu(gate)))

    def __init__(self, vocabulary=64, width=64, heads=8, states=16, chunk=16):
        super().__init__()
        self.tokens, self.head = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary)
        self.layers = nn.Sequential(*(self.Layer(width, heads, states, chunk) for _ in range(2)))

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(self.tokens(x))).flatten(0, 1).float(), y.flatten())


class DeltaNet(nn.Module):
    """24 steps of the delta rule on states of 4 x 4 x 16 x 16, one after the other."""

    def __init__(self, vocabulary=64, width=64, heads=4):
        super().__init__()
        self.heads, self.tokens, self.norm = heads, nn.Embedding(vocabulary, width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.rate, self.head = nn.Linear(width, heads), nn.Linear(width, vocabulary)

    def forward(self, x, y):
        x = self.tokens(x)
        z, size = self.norm(x), x.shape[2] // self.heads
        q, k, v = (f(z).unflatten(2, (self.heads, size)).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, rate = F.normalize(k, dim=-1), self.rate(z).sigmoid().transpose(1, 2)
        state, read = torch.zeros(x.shape[0], self.heads, size, size), []
        for t in range(x.shape[1]):
            known = torch.einsum("bhk,bhkv->bhv", k[:, :, t], state)
            state = state + torch.einsum("bhk,bhv->bhkv", k[:, :, t], (v[:, :, t] - known) * rate[:, :, t, None])
            read.append(torch.einsum("bhk,bhkv->bhv", q[:, :, t], state))
        read = torch.stack(read, 2).transpose(1, 2).flatten(2)
        return F.cross_entropy(self.head(x + self.out(read)).flatten(0, 1).float(), y.flatten())


class LinearAttention(nn.Module):
    """Attention without a softmax over positions (Katharopoulos et al. 2020)."""

    def __init__(self, width=96, depth=3):
        super().__init__()
        self.words = nn.Embedding(256, width)
        self.layers = nn.Sequential(*[Block(width, 4, self.attend) for _ in range(depth)])
        self.head = nn.Linear(width, 256)

    @staticmethod
    def attend(q, k, v):
        q, k = F.elu(q) + 1, F.elu(k) + 1
        sums = q @ (k.transpose(-1, -2) @ v)
        return sums / (q @ k.sum(-2)[..., None] + 1e-6)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(self.words(x))).flatten(0, 1).float(), y.flatten())


class DenseExperts(nn.Module):
    """Each word weighs two of four MLPs, all of which are computed (Shazeer et al. 2017)."""

    def __init__(self, words=200, width=64, experts=4, depth=2):
        super().__init__()
        self.words, self.head = nn.Embedding(words, width), nn.Linear(width, words)
        self.mix = nn.ModuleList([nn.MultiheadAttention(width, 4, batch_first=True) for _ in range(depth)])
        self.gates = nn.ModuleList([nn.Linear(width, experts, bias=False) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2 * depth)])
        self.up = nn.ParameterList([torch.randn(experts, width, 2 * width) * .1 for _ in range(depth)])
        self.down = nn.ParameterList([torch.randn(experts, 2 * width, width) * .1 for _ in range(depth)])

    def forward(self, x, y):
        h = self.words(x)
        for i, (mix, gate) in enumerate(zip(self.mix, self.gates)):
            z = self.norms[2 * i](h)
            h = h + mix(z, z, z, need_weights=False)[0]
            z = self.norms[2 * i + 1](h)
            scores = gate(z).float()
            best = scores.topk(2, -1)[0][..., -1:]
            shares = torch.where(scores >= best, scores, -1e30).softmax(-1)
            made = torch.einsum("btw,ewf->ebtf", z, self.up[i])
            made = torch.einsum("ebtf,efw->ebtw", F.silu(made), self.down[i])
            h = h + (made * shares.permute(2, 0, 1)[..., None].to(made.dtype)).sum(0)
        return F.cross_entropy(self.head(h).flatten(0, 1).float(), y.flatten())


class RWKV(nn.Module):
    """Two blocks whose channels decay over time, one step after the other (Peng et al. 2023)."""

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.mix = nn.Parameter(torch.full((5, width), .5))
            self.key, self.value, self.gate, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.decay, self.first = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.zeros(width))
            self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
            self.receive = nn.Linear(width, width, bias=False)

        def forward(self, x):
            z = self.norms[0](x)
            before = F.pad(z, (0, 0, 1, -1))
            k, v, r = (f(torch.lerp(before, z, m.to(z.dtype)))
                       for f, m in zip((self.key, self.value, self.gate), self.mix))
            decay, weights = torch.exp(-torch.exp(self.decay)), torch.exp(k.float().clamp(max=20))
            above = below = torch.zeros_like(weights[:, 0])
            read = []
            for t in range(x.shape[1]):
                now = weights[:, t] * v[:, t]
                first = torch.exp(self.first)
                read.append((above + first * now) / (below + first * weights[:, t] + 1e-6))
                above, below = decay * above + now, decay * below + weights[:, t]
            x = x + self.out(torch.sigmoid(r) * torch.stack(read, 1))
            z = self.norms[1](x)
            before = F.pad(z, (0, 0, 1, -1))
            k, r = (torch.lerp(before, z, m.to(z.dtype)) for m in self.mix[3:])
            return x + torch.sigmoid(self.receive(r)) * self.down(F.relu(self.up(k)).square())

    def __init__(self, words=64, width=64):
        super().__init__()
        self.words, self.head = nn.Embedding(words, width), nn.Linear(width, words)
        self.blocks = nn.Sequential(self.Block(width), self.Block(width))

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.blocks(self.words(x))).flatten(0, 1).float(), y.flatten())


class Tagger(nn.Module):
    """A GRU whose tags a conditional random field scores (Lample et al. 2016)."""

    def __init__(self, words=100, width=48, tags=9):
        super().__init__()
        self.words, self.read = nn.Embedding(words, width), nn.GRU(width, width, batch_first=True)
        self.head, self.moves = nn.Linear(width, tags), nn.Parameter(torch.randn(tags, tags) * .1)

    def forward(self, x, y):
        scores = self.head(self.read(self.words(x))[0]).float()
        hot = F.one_hot(y, scores.shape[2]).float()
        chosen = (scores * hot).sum((1, 2))
        chosen = chosen + torch.einsum("bti,ij,btj->b", hot[:, :-1], self.moves, hot[:, 1:])
        total = scores[:, 0]
        for t in range(1, x.shape[1]):
            total = torch.logsumexp(total[:, :, None] + self.moves, 1) + scores[:, t]
        return (torch.logsumexp(total, 1) - chosen).mean()


class StateSpace(nn.Module):
    """A diagonal state space model as a convolution by FFT's sums (S4D, Gu et al. 2022)."""

    def __init__(self, width=32, states=16):
        super().__init__()
        self.up, self.mix, self.head = nn.Linear(3, width), nn.Linear(width, 2 * width), nn.Linear(width, 10)
        self.decay = nn.Parameter(torch.rand(width, states))
        self.turn = nn.Parameter(math.pi * torch.arange(states).float().repeat(width, 1))
        self.weight = nn.Parameter(torch.randn(width, states) * .1)
        self.direct = nn.Parameter(torch.ones(width))

    def forward(self, x, y):
        x = self.up(x).transpose(1, 2)
        length = x.shape[2]
        time = torch.arange(length).float() / length
        kernel = (self.weight[..., None] * torch.exp(-self.decay.exp()[..., None] * time)
                  * torch.cos(self.turn[..., None] * time)).sum(1)
        conv = F.conv1d(F.pad(x, (length - 1, 0)), kernel.flip(1)[:, None], groups=x.shape[1])
        z = F.gelu(conv + x * self.direct[:, None]).transpose(1, 2)
        return F.cross_entropy(self.head(F.glu(self.mix(z)).mean(1)).float(), y)


NETWORKS = {
    "llama": (Llama, lambda: (torch.randint(0, 4096, (2, 256)), torch.randint(0, 4096, (2, 256)))),
    "experts": (Experts, lambda: (words := torch.randint(3, 2000, (4, 128)), words)),
    "seq2seq": (Translator, lambda: (torch.randint(0, 64, (16, 20)), torch.randint(0, 64, (16, 20)))),
    "mamba2": (Mamba2, lambda: (torch.randint(0, 64, (4, 64)), torch.randint(0, 64, (4, 64)))),
    "deltanet": (DeltaNet, lambda: (torch.randint(0, 64, (4, 24)), torch.randint(0, 64, (4, 24)))),
    "linattn": (LinearAttention, lambda: (integers(256, 4, 128), integers(256, 4, 128))),
    "moe": (DenseExperts, lambda: (integers(200, 4, 64), integers(200, 4, 64))),
    "rwkv": (RWKV, lambda: (integers(64, 4, 24), integers(64, 4, 24))),
    "tagger": (Tagger, lambda: (integers(100, 8, 20), integers(9, 8, 20))),
    "s4d": (StateSpace, lambda: (torch.randn(8, 128, 3), integers(10, 8))),
}
