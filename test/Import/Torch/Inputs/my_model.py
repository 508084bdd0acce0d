"""A classifier and what `python -m mpt.export` needs to know of it."""
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4),
                                      nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.frozen = nn.Linear(64, 16)
        self.frozen.requires_grad_(False)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        with torch.no_grad():
            scale = x.abs().mean()
        return self.head(torch.relu(self.frozen(self.features(x).flatten(1)))) * (1 + scale)


def loss(model, x, y):
    return F.cross_entropy(model(x), y)


def make():
    torch.manual_seed(0)
    return Net(), loss, (torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,)))


def refused():
    """A loss that is no scalar."""
    return Net(), lambda model, x, y: model(x), make()[2]


def data_dependent():
    def loss(model, x, y):
        return model(x).sum() if x.sum() > 0 else model(x).mean()
    return Net(), loss, make()[2]


def unsupported():
    def loss(model, x, y):
        return F.cross_entropy(torch.i0(model(x)), y)
    return Net(), loss, make()[2]


def inner_backward():
    def loss(model, x, y):
        x = x.clone().requires_grad_()
        model(x).sum().backward()
        return x.grad.norm()
    return Net(), loss, make()[2]


def gradient_of(function):
    def loss(model, x, y):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(function(model, x, y), x, create_graph=True)[0].norm()
    return Net(), loss, make()[2]


def inner_dropout():
    return gradient_of(lambda model, x, y: F.dropout(x, 0.5, True).sum())


def higher_order():
    return Net(), lambda model, x, y: model(torch.cond(
        x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))).sum(), make()[2]


def inner_rows():
    return Net(), lambda model, x, y: torch.func.jacrev(lambda x: x.flatten()[:257] ** 2)(
        model(x[:1].expand(99, *x.shape[1:]))).sum(), make()[2]


def inner_reflections():
    return gradient_of(lambda model, x, y: torch.linalg.householder_product(
        x.reshape(len(x), -1)[:, :2], torch.ones(2)).sum())


def inner_unused():
    return gradient_of(lambda model, x, y: model.head(model.frozen.weight.t()[:3]).sum())


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Clamped(Rounded):
    @staticmethod
    def backward(ctx, gradient):
        return gradient.clamp(-1, 1)


class Constant(Rounded):
    @staticmethod
    def backward(ctx, gradient):
        return torch.ones_like(gradient)


def own_gradient():
    return Net(), lambda model, x, y: Clamped.apply(model(x)).sum(), make()[2]


def own_gradient_constant():
    return Net(), lambda model, x, y: Constant.apply(model(x)).sum(), make()[2]


rounded = Rounded.apply
bound = [rounded]


def own_gradient_bound():
    return Net(), lambda model, x, y: {"loss": bound[0](model(x)).sum()}, make()[2]


def own_function():
    """Its gradient does not count here."""
    def loss(model, x, y):
        z = model(Rounded.apply(rounded(x)))
        with torch.no_grad():
            target = Rounded.apply(rounded(z))
        return F.mse_loss(z, target)
    return Net(), loss, make()[2]


def tensor_hook():
    def loss(model, x, y):
        z = model(x)
        z.register_hook(lambda gradient: gradient.clamp(-1, 1))
        return F.cross_entropy(z, y)
    return Net(), loss, make()[2]


def parameter_hook():
    model, loss, example = make()
    next(model.parameters()).register_hook(lambda gradient: gradient.clamp(-1, 1))
    return model, loss, example


def module_hook():
    model, loss, example = make()
    model.register_full_backward_hook(lambda module, inputs, outputs: None)
    return model, loss, example


def clamped():
    def loss(model, x, y):
        z = model(x)
        with torch.no_grad():
            z.clamp_(min=0)  # PyTorch's gradient passes on where z was below.
        return F.cross_entropy(z, y)
    return Net(), loss, make()[2]


def masked():
    def loss(model, x, y):
        z = model(x)
        with torch.no_grad():
            z[:, 0].view(2, 4)[0].zero_()
        return F.cross_entropy(z, y)
    return Net(), loss, make()[2]


def changed():
    def loss(model, x, y):
        return F.cross_entropy(model(x), y.clamp_(0, 2))
    return Net(), loss, make()[2]


def packed():
    def loss(model, x, y):
        lengths = torch.tensor([8] * 8)
        return nn.utils.rnn.pack_padded_sequence(x[:, 0], lengths, batch_first=True).data.sum()
    return Net(), loss, make()[2]


def nested():
    def loss(model, x, y):
        return sum(t.sum() for t in torch.nested.nested_tensor([x[:3], x[3:]]).unbind())
    return Net(), loss, make()[2]


def strided():
    def loss(model, x, y):
        return torch.as_strided(x[..., ::2], [8], [9]).sum() + model(x).sum()
    return Net(), loss, make()[2]


def averaged():
    """The error is raised in Python's library."""
    import statistics

    def loss(model, x, y):
        return model(x).sum() * statistics.fmean([x.sum(), y.sum()])
    return Net(), loss, make()[2]
