"""Losses that ask for gradients themselves: the loss and all parameters after a step of SGD equal
PyTorch's in f64, as closely as PyTorch's in f32 does, times 8."""
import copy
import warnings

import torch
from torch import nn
from torch.nn import functional as F

import mpt.torch

warnings.filterwarnings("ignore")


def network(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def critic():
    """Windows that leave rows over, groups, dilation, a transposed convolution."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2), nn.LeakyReLU(0.2), nn.GroupNorm(2, 8),
        nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=2), nn.SiLU(), nn.LayerNorm([8, 4, 5]),
        nn.ConvTranspose2d(8, 4, 3, 2, output_padding=1), nn.Softplus(), nn.AdaptiveAvgPool2d(1),
        nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 1))


def penalty(model, x, y):
    """WGAN-GP."""
    between = (0.3 * x + 0.7 * y).requires_grad_()
    g = torch.autograd.grad(model(between).sum(), between, create_graph=True)[0]
    return model(y).mean() - model(x).mean() + 10 * ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()


def first_order(model, x, y):
    """Without create_graph the gradient is a number."""
    x = x.clone().requires_grad_()
    value = model(x).square().sum()
    g, = torch.autograd.grad(value, [x])
    return model(x).square().sum() + (g * model(x)).sum()


def fast_weights(model, x, y):
    """MAML: of filters, too."""
    weights = dict(model.named_parameters())
    g = torch.func.grad(lambda w: torch.func.functional_call(model, w, (x,)).square().mean())(
        weights)
    weights = {name: weights[name] - 0.1 * g[name] for name in weights}
    return torch.func.functional_call(model, weights, (y,)).square().mean()


def second_order(model, x, y):
    """A Laplacian by gradients of gradients, as in physics-informed networks."""
    x = x.clone().requires_grad_()
    u = model(x)
    g, = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)
    parts = [torch.autograd.grad(g[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(2)]
    return (sum(parts) - y[:, 0]).square().mean() + u.square().mean()


def nested(model, x, y):
    def inner(x):
        return torch.func.grad(lambda x: model(x).sum())(x).square().sum()
    g, (value, aux) = torch.func.grad_and_value(
        lambda x, y: (inner(x) + y.sum(), x * 2), has_aux=True)(x, y)
    return g.square().mean() + value + aux.mean()


def products(model, x, y):
    u, of = torch.func.vjp(lambda x: model(x), x)
    u2, du = torch.func.jvp(model, (x,), (y,))
    return of(torch.cos(u))[0].square().mean() + (u2 * du).mean()


def inside(model, x, y):
    """By a value and by one that is computed from it; and by one that nothing depends on."""
    x = x.clone().requires_grad_()
    h = model[0](x)
    both = torch.autograd.grad(model[2](model[1](h)).square().sum(), [x, h], create_graph=True)
    none, = torch.autograd.grad(h.sum(), [y.requires_grad_()], create_graph=True,
                                materialize_grads=True)
    return sum(g.square().mean() for g in both) + none.sum()


def losses(model, x, y):
    """Losses, softmax, embeddings' kin and convolutions of one dimension."""
    h = x.clone().requires_grad_()
    z = model(h[:, None])
    target = y[:, 0].abs().long() % 3
    value = F.cross_entropy(z[:, :3], target) + F.smooth_l1_loss(z, z.flip(1)) + \
        F.gelu(z).softmax(1)[:, 0].sum() + F.elu(z).mean() + F.binary_cross_entropy_with_logits(
            z[:, 0], torch.ones_like(z[:, 0]))
    g, = torch.autograd.grad(value, h, create_graph=True)
    return g.square().sum() + value


def per_sample(model, x, y):
    """Gradients of each sample by all parameters, and a value beside them."""
    def of(parameters, x, y):
        value = F.mse_loss(torch.func.functional_call(model, parameters, (x,)), y[:1])
        return value, value * 2
    parameters = dict(model.named_parameters())
    found, double = torch.vmap(torch.func.grad(of, has_aux=True), (None, 0, 0))(parameters, x, y)
    return sum(g.flatten(1).norm(dim=1).sum() for g in found.values()) + double.mean()


def hessians(model, x, y):
    """At each point; the second derivative of one direction; and rows that are columns."""
    whole = torch.vmap(torch.func.hessian(lambda q: model(q)[0]))(x)
    jacobians = torch.vmap(torch.func.jacrev(model), in_dims=1)(x.T)
    return whole.square().mean() + (whole.diagonal(0, 1, 2).sum(1) * y[:, 0]).mean() + \
        jacobians.square().sum()


def jacobians(model, x, y):
    """By both ways, nested vmaps of both kinds, and a second derivative by two jvp."""
    forward = torch.func.jacfwd(model)(x[0])
    backward = torch.func.jacrev(lambda x: model(x).sum(0))(x)
    pairs = torch.vmap(lambda a: torch.vmap(lambda b: torch.func.grad(
        lambda a: (model(a) * model(b)).sum())(a))(y))(x)
    second = torch.func.jvp(lambda x: torch.func.jvp(model, (x,), (y,))[1], (x,), (y,))[1]
    return forward.square().sum() + backward.square().sum() + pairs.square().mean() + \
        second.square().mean()


class Reversed(torch.autograd.Function):
    """Returns its operand, which has another gradient where it is used beside."""

    @staticmethod
    def forward(ctx, x, scale=1.0):
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.scale * g, None


class Straight(torch.autograd.Function):
    """Of two results one has a gradient, and backward() has no second one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        level = x.round()
        ctx.mark_non_differentiable(level)
        return torch.sign(x), level

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g, _):
        x, = ctx.saved_tensors
        g = g.clone()
        return torch.where(x.abs() <= 1, g, torch.zeros_like(g)).masked_fill(x == 2, 0)


class Product(torch.autograd.Function):
    """In the style of setup_context; a gradient for three operands, one of them not needed."""

    @staticmethod
    def forward(x, w, b, keep):
        return (x @ w.t() + b).relu(), keep

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2], output[0])

    @staticmethod
    def backward(ctx, g, _):
        x, w, y = ctx.saved_tensors
        g = g * (y > 0)
        return (g @ w if ctx.needs_input_grad[0] else None), g.t() @ x, g.sum(0), None


# As many a package has it.
reverse = Reversed.apply


def with_reverse():
    model = network(2, 8, 1)
    model.reverse = Reversed.apply
    return model


def own_functions(model, x, y):
    h, _ = Product.apply(x, model[0].weight, model[0].bias, "kept")
    signs, level = Straight.apply(h - 0.5)
    h = model[2](signs * 0.5 + h)
    sides = reverse(h, 0.25).square().mean() + model.reverse(h).cos().mean() + h.sum()
    value = (h - level.mean()).square().mean() + sides
    with torch.no_grad():
        fixed = Reversed.apply(h).mean()
    return value * fixed


def line():
    return nn.Sequential(nn.Conv1d(1, 4, 3, 2, 1), nn.Tanh(), nn.Flatten(), nn.Linear(16, 4))


def filters():
    return nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1, dilation=2), nn.Tanh(), nn.Flatten(),
                         nn.Linear(16, 1))


def step_of(model, loss, batch):
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    value = loss(model, *batch)
    value.backward()
    optimizer.step()
    return value.item(), torch.cat([p.detach().double().flatten() for p in model.parameters()])


image, plane = [4, 3, 10, 11], [6, 2]
for loss, make, shape in (
        (penalty, critic, image), (fast_weights, filters, [4, 3, 6, 6]),
        (first_order, lambda: network(2, 8, 1), plane),
        (second_order, lambda: network(2, 8, 8, 1), plane),
        (nested, lambda: network(2, 8, 1), plane), (products, lambda: network(2, 8, 1), plane),
        (inside, lambda: network(2, 8, 1), plane), (losses, line, [5, 8]),
        (per_sample, lambda: network(2, 8, 1), plane), (hessians, lambda: network(2, 8, 1), plane),
        (jacobians, lambda: network(2, 8, 1), plane),
        (own_functions, with_reverse, plane)):
    torch.manual_seed(1)
    model, batch = make(), [torch.randn(shape) for _ in range(2)]
    try:
        exact = step_of(copy.deepcopy(model).double(), loss, [t.double() for t in batch])
        single = step_of(copy.deepcopy(model), loss, batch)
        step = mpt.torch.TrainStep(model, loss, torch.optim.SGD(model.parameters(), 0.5),
                                   example=batch)
        value, state = step(*batch).loss, step.state_dict()
        ours = value, torch.cat([state[n].double().flatten() for n, _ in model.named_parameters()])
    except Exception as error:
        print(f"{loss.__name__}: {type(error).__name__}: {error}")
        continue
    apart = [max(abs(a[0] - exact[0]) / (1 + abs(exact[0])), (a[1] - exact[1]).abs().max().item())
             for a in (ours, single)]
    print(loss.__name__, "equal" if apart[0] <= 8 * apart[1] + 1e-6 else
          f"differs by {apart[0]}, PyTorch by {apart[1]}")
