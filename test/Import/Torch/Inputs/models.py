"""Small models for the comparison with PyTorch. Each entry of MODELS makes
(model, loss, batch); those of libraries that are missing raise ImportError."""
import warnings

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")


def classify(model, x, y):
    return F.cross_entropy(model(x), y)


def images(size=16, channels=3, batch=4, classes=10):
    return torch.randn(batch, channels, size, size), torch.randint(0, classes, (batch,))


def mlp():
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 10))
    return model, classify, (torch.randn(4, 8), torch.randint(0, 10, (4,)))


def gaussian():
    """A loss whose arguments PyTorch checks, some variances below what it takes as the least."""
    def loss(model, x, y):
        mean, variance = model(x).chunk(2, 1)
        return nn.GaussianNLLLoss(eps=0.5)(mean, y, F.softplus(variance))
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
    return model, loss, (torch.randn(16, 8), torch.randn(16, 2))


def cnn():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(16), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Dropout(0.0), nn.Linear(16, 10))
    return model, classify, images()


class Statistics(nn.Module):
    """Running statistics of instances, which move by the average of a batch's, and of batches,
    which are averages of all batches without a momentum."""

    def __init__(self):
        super().__init__()
        self.images = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6, momentum=None), nn.ELU(),
                                    nn.InstanceNorm2d(6, affine=True, track_running_stats=True),
                                    nn.AdaptiveMaxPool2d((4, 3)))
        self.rows = nn.Sequential(nn.Linear(12, 12),
                                  nn.BatchNorm1d(6, momentum=None, affine=False), nn.ELU(),
                                  nn.InstanceNorm1d(6, momentum=0.3, track_running_stats=True))
        self.head = nn.Linear(72, 10)
        self.fixed = nn.InstanceNorm1d(6, track_running_stats=True)
        with torch.no_grad():
            self.fixed.running_mean.uniform_(-1, 1)
            self.fixed.running_var.uniform_(0.5, 2)

    def forward(self, x):
        self.fixed.eval()
        return self.head(self.fixed(self.rows(self.images(x).flatten(2))).flatten(1))


def statistics():
    # Called twice: the second changes what the first has left.
    def loss(model, x, y):
        return classify(model, x, y) + model(x * 2 + 1).square().mean()
    return Statistics(), loss, images(12)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(8), nn.ReLU())
        self.pool = nn.MaxPool2d(2)
        self.middle = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(4, 16),
                                    nn.LeakyReLU(0.1))
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.head = nn.Conv2d(16, 5, 1)

    def forward(self, x):
        wide = self.down(x)
        return self.head(torch.cat([self.up(self.middle(self.pool(wide))), wide], 1))


def unet():
    return UNet(), classify, (torch.randn(2, 3, 16, 16), torch.randint(0, 5, (2, 16, 16)))


class Encoder(nn.Module):
    """nn.TransformerEncoder over embeddings, with positions."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.positions = nn.Parameter(torch.randn(12, 16) * 0.02)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0, activation="gelu",
                                           batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.layers(self.words(x) + self.positions).mean(1))


def encoder():
    return Encoder(), classify, (torch.randint(0, 50, (2, 12)), torch.randint(0, 10, (2,)))


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.layer(x)[0][:, -1])


def recurrent(kind):
    layer = kind(8, 16, 2, batch_first=True, bidirectional=True)
    return Recurrent(layer), classify, (torch.randn(3, 4, 8), torch.randint(0, 10, (3,)))


def projected():
    layer = nn.LSTM(8, 24, 2, batch_first=True, bidirectional=True, proj_size=16)
    return Recurrent(layer), classify, (torch.randn(3, 4, 8), torch.randint(0, 10, (3,)))


class Graph(nn.Module):
    """Sums over the edges of a graph."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x, source, target):
        assert source.max().item() < x.size(0)
        h = torch.relu(self.inner(x))
        return self.head(h + torch.zeros_like(h).index_add(0, target, h[source]))


def graph():
    return (Graph(), lambda model, x, source, target, y: F.cross_entropy(
        model(x, source, target), y),
        (torch.randn(6, 8), torch.randint(0, 6, (12,)), torch.randint(0, 6, (12,)),
         torch.randint(0, 4, (6,))))


class Experts(nn.Module):
    """Two of four experts, by topk."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        weights, chosen = torch.topk(self.gate(x), 2, -1)
        weights, y = weights.softmax(-1), torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            y = y + expert(x) * ((chosen == index) * weights).sum(-1, keepdim=True)
        return self.head(y)


def experts():
    return Experts(), classify, (torch.randn(6, 8), torch.randint(0, 3, (6,)))


def contrast():
    """A contrastive loss, which fills the diagonal of a matrix in place."""
    def loss(model, x):
        z = F.normalize(model(x))
        scores = torch.einsum("...d,nd->...n", z, z) / 0.5
        scores.fill_diagonal_(-1e9)
        return F.cross_entropy(scores, torch.arange(6).roll(3))
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8)), loss, (
        torch.randn(6, 8),)


class Odd(nn.Module):
    """Tied and frozen weights, a checkpoint, no_grad, in-place ops on views, a dictionary."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.frozen = nn.Linear(8, 8)
        for parameter in self.frozen.parameters():
            parameter.requires_grad_(False)
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("scale", torch.tensor(0.5), persistent=False)

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint
        self.calls.add_(1)
        h = checkpoint(lambda t: torch.tanh(self.first(t)), x, use_reentrant=False)
        with torch.no_grad():
            offset = self.second(h) * self.scale
        h = self.frozen(h) + offset
        h = h * 1
        h[:, :4].mul_(2.0)
        h[:, 0] = 1.0
        return self.second(h)


def odd():
    def loss(model, x, y):
        prediction = model(x)
        return {"error": (prediction - y).abs().mean(), "loss": F.mse_loss(prediction, y)}
    return Odd(), loss, (torch.randn(4, 8), torch.randn(4, 8))


def critic():
    """Buffers that each call of the model changes without gradients, called twice."""
    norm = nn.utils.parametrizations.spectral_norm
    model = nn.Sequential(norm(nn.Conv2d(3, 8, 3, 2, 1)), nn.LeakyReLU(0.2), nn.Flatten(),
                          norm(nn.Linear(8 * 4 * 4, 3)))
    return model, lambda model, x, y: (model(x).tanh() - model(y)).mean(), (
        torch.randn(4, 3, 8, 8), torch.randn(4, 3, 8, 8))


def vision(name, size=64, batch=2, **options):
    import torchvision
    model = getattr(torchvision.models, name)(num_classes=10, **options)
    return model, classify, images(size, batch=batch)


def segmentation(name="fcn_resnet50", size=64, batch=2):
    import torchvision
    model = getattr(torchvision.models.segmentation, name)(
        weights=None, weights_backbone=None, num_classes=5)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return (model, lambda model, x, y: F.cross_entropy(model(x)["out"], y),
            (torch.randn(batch, 3, size, size), torch.randint(0, 5, (batch, size, size))))


def vit():
    import torchvision
    model = torchvision.models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=64,
        num_classes=10)
    nn.init.normal_(model.heads.head.weight, std=0.1)
    return model, classify, images(32, batch=2)


def words(batch=2, length=16, count=100):
    return torch.randint(3, count, (batch, length))


class Translator(nn.Module):
    """nn.Transformer with a causal mask of floats and padding masks of booleans."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 32, padding_idx=0)
        self.layers = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True,
                                     norm_first=True, activation="gelu")

    def forward(self, x, y):
        causal = nn.Transformer.generate_square_subsequent_mask(
            y.shape[1], dtype=self.words.weight.dtype)
        y = self.layers(self.words(x), self.words(y), tgt_mask=causal,
                        src_key_padding_mask=x == 0, memory_key_padding_mask=x == 0)
        return y @ self.words.weight.T


def translator():
    def loss(model, x, y):
        return F.cross_entropy(model(x, y[:, :-1]).flatten(0, 1), y[:, 1:].flatten())
    x = words()
    x[0, 12:] = 0
    return Translator(), loss, (x, words(length=9))


def gpt2():
    import transformers
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=100, n_positions=32, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0,
        embd_pdrop=0, attn_pdrop=0, use_cache=False, bos_token_id=0, eos_token_id=0))
    return model, lambda model, x: model(input_ids=x, labels=x).loss, (words(),)


def bert():
    import transformers
    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=32, hidden_dropout_prob=0,
        attention_probs_dropout_prob=0))
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[0, 10:] = 0
    return (model, lambda model, x, mask, y: model(input_ids=x, attention_mask=mask,
                                                   labels=y).loss,
            (words(), mask, torch.randint(0, 2, (2,))))


def llama():
    import transformers
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=64, max_position_embeddings=32,
        use_cache=False))
    return model, lambda model, x: model(input_ids=x, labels=x).loss, (words(),)


def mixtral():
    import transformers
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=64, max_position_embeddings=32,
        num_local_experts=4, use_cache=False, bos_token_id=1, eos_token_id=2))

    def loss(model, x):
        if next(model.parameters()).dtype == torch.float64:  # no grouped matmul of f64
            model.config._experts_implementation = "eager"
        return model(input_ids=x, labels=x).loss
    return model, loss, (words(),)


def t5():
    import transformers
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        dropout_rate=0, use_cache=False, decoder_start_token_id=0))
    return (model, lambda model, x, y: model(input_ids=x, labels=y).loss,
            (words(), words(length=8)))


class WrittenAttention(nn.Module):
    """Attention in eager code. `kind` is how scores are masked."""

    def __init__(self, kind, width=32, heads=4, length=16):
        super().__init__()
        self.kind, self.heads = kind, heads
        self.table, self.qkv = nn.Embedding(100, width), nn.Linear(width, 3 * width)
        self.head = nn.Linear(width, 100)
        self.register_buffer("seen", torch.tril(torch.ones(length, length)))
        if kind in ("biases", "hidden"):
            self.distance = nn.Parameter(torch.randn(length, length, heads))

    def mask(self, scores, x):
        length, lowest = x.shape[1], torch.finfo(scores.dtype).min
        i = torch.arange(length)
        # The rows of the first batch see nothing in "padding" and "hidden": a mean of all values.
        pads = (x < 20)[:, None, None, :]
        if self.kind == "buffer":
            return scores.masked_fill(self.seen[None, None] == 0, float("-inf"))
        if self.kind == "where":
            return torch.where(self.seen > 0, scores, torch.tensor(lowest, dtype=scores.dtype))
        if self.kind == "tril":
            seen = torch.ones(length, length, dtype=torch.bool).tril()
            return scores.masked_fill(~seen, -1e9)
        if self.kind == "triu":
            return scores + torch.triu(torch.full((length, length), float("-inf")), 1)
        if self.kind == "arange":
            return scores.masked_fill(i[None, :] > i[:, None], float("-inf"))
        if self.kind in ("padding", "hidden"):
            if self.kind == "hidden":
                scores = scores + self.distance.permute(2, 0, 1)
            pads = pads | (torch.arange(x.shape[0]) == 0)[:, None, None, None]
            return scores.masked_fill(pads, lowest)
        if self.kind == "both":
            return scores.masked_fill(~((i[None, :] <= i[:, None]) & ~pads), lowest)
        if self.kind == "biases":
            scores = scores + self.distance.permute(2, 0, 1)
            zero = torch.zeros((), dtype=scores.dtype)
            return scores + torch.where(pads, torch.full_like(zero, lowest), zero)
        # No masks: added and small, or not for keys.
        if self.kind == "small":
            return torch.where(pads, scores - 2.0, scores)
        return scores

    def forward(self, x):
        h = self.table(x)
        batch, length, width = h.shape
        shape = batch, length, self.heads, width // self.heads
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(h).split(width, 2))
        if self.kind == "bmm":
            q, k, v = (part.reshape(-1, *part.shape[2:]) for part in (q, k, v))
            scores = torch.bmm(q, k.transpose(1, 2)) / shape[-1] ** 0.5
            scores = scores + torch.full((length, length), float("-inf")).triu(1)
            y = torch.bmm(scores.softmax(-1), v).view(batch, self.heads, length, -1)
        else:
            scores = self.mask(q @ k.transpose(-2, -1) * shape[-1] ** -0.5, x)
            y = F.softmax(scores, dim=-1) @ v
        return self.head(y.transpose(1, 2).reshape(h.shape) + h)


def written(kind):
    return (WrittenAttention(kind),
            lambda model, x, y: F.cross_entropy(model(x).flatten(0, 1), y.flatten()),
            (words(), words()))


def eager(make):
    def build():
        model, loss, batch = make()
        model.set_attn_implementation("eager")
        return model, loss, batch
    return build


MODELS = {
    "mlp": mlp, "cnn": cnn, "unet": unet, "encoder": encoder,
    "lstm": lambda: recurrent(nn.LSTM), "gru": lambda: recurrent(nn.GRU),
    "graph": graph, "experts": experts, "translator": translator, "contrast": contrast,
    "odd": odd, "critic": critic, "statistics": statistics, "gaussian": gaussian,
    "projected": projected,
    "gpt2": gpt2, "bert": bert, "llama": llama, "mixtral": mixtral, "t5": t5, "vit": vit,
    "resnet18": lambda: vision("resnet18"),
    "mobilenet_v3_small": lambda: vision("mobilenet_v3_small", dropout=0.0),
    "resnet50": lambda: vision("resnet50"), "vgg11": lambda: vision("vgg11", dropout=0.0),
    "convnext_tiny": lambda: vision("convnext_tiny", stochastic_depth_prob=0.0),
    "efficientnet_b0": lambda: vision("efficientnet_b0", dropout=0.0,
                                      stochastic_depth_prob=0.0),
    "fcn_resnet50": segmentation,
    **{f"eager-{make.__name__}": eager(make) for make in (gpt2, bert, llama, t5)},
    **{f"attention-{kind}": lambda kind=kind: written(kind)
       for kind in ("buffer", "where", "tril", "triu", "arange", "padding", "both", "biases",
                    "hidden", "small", "bmm")},
}
