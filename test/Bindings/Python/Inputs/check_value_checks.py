"""Python that asks tensors for their values, beside eager PyTorch."""
import contextlib
import random
import warnings

import torch
from torch import distributions, nn
from torch.nn import functional as F

from eager import compare, draw, layer, refused, sgd
import mpt.torch

batches = draw(3)


def check(name, loss, make=layer, batches=batches):
    compare(name, make, loss, batches, sgd)


def assertions(model, x, y):
    z = model(x)
    assert (y >= 0).all() and y.max() < 3, f"labels up to {y.max()}"
    assert torch.all(y >= 0).item()
    assert not z.isnan().any()
    with torch.no_grad():
        assert bool((z == z).all()), "NaN"
    return F.cross_entropy(z, y)


def errors(model, x, y):
    if torch.isnan(x).any():
        raise ValueError(f"NaN among {x.shape}")
    if y is not None and y.max() >= 3 or y.min() < 0:
        raise ValueError("labels")
    if not (y < 3).all(): raise ValueError("labels")
    if (y > 2).any():
        place = torch.where(y > 2)[0][0]
        torch._assert(False, f"label {place}")
    return F.cross_entropy(model(x), y)


def numbers(model, x, y):
    assert y.max().item() < 3 and y.float().mean().item() >= 0
    return F.cross_entropy(model(x), y)


def of_distributions(model, x, y):
    z = model(x)
    matrix = x.T[:3] @ x[:, :3] + torch.eye(3, dtype=x.dtype)
    return -distributions.Normal(z, z.exp(), validate_args=True).log_prob(x[:, :3]).mean() \
        - distributions.MultivariateNormal(z, covariance_matrix=matrix).log_prob(x[:, :3]).mean() \
        - distributions.Categorical(logits=z).log_prob(y).mean()


def handled(model, x, y):
    """Errors that are raised again, or pass by, go on."""
    z = model(x)
    try:
        with torch.no_grad():
            errors(model, x, y)
    except ValueError as error:
        raise RuntimeError("labels") from error
    finally:
        z = 2 * z
    return F.cross_entropy(z, y)


for name, loss in (("assertions", assertions), ("errors", errors), ("numbers", numbers),
                   ("distributions", of_distributions), ("raised again", handled)):
    check(name, loss)


def tensors_of_numbers(model, x, y):
    """torch.tensor takes values alone."""
    z = model(x)
    weights = torch.tensor([[y[0], y[1]], [2, y.sum()]])
    means = torch.tensor([z.mean().detach(), 1.0], dtype=x.dtype)
    return (weights * z[:2, :2]).mean() * 0.1 + (means * z[:, :2]).mean()


check("tensors of numbers", tensors_of_numbers)


# Grave et al., 2017.
def clusters():
    return nn.AdaptiveLogSoftmaxWithLoss(6, 40, [5, 15], div_value=2.0, head_bias=True)


# Each batch has rows of each cluster: eager PyTorch's parameters of others have no gradient.
words = [(x, torch.tensor(rows)) for (x, _), rows in zip(batches, (
    [0, 4, 5, 14, 15, 39, 20, 3], [17, 6, 2, 2, 38, 9, 1, 15], [30, 4, 12, 5, 16, 0, 0, 33]))]
check("clusters", lambda model, x, y: model(x, y).loss + 0.01 * model(x, y).output.square().mean(),
      clusters, words)
check("clusters of one row", lambda model, x, y: model(x[0], y[0]).loss, clusters, words[:1])

# Targets out of range.
for target in (-1, 40):
    x, y = words[0]
    model = clusters()
    step = mpt.torch.TrainStep(model, lambda model, x, y: model(x, y).loss, sgd(model), (x, y))
    try:
        step(x, torch.where(y == 39, target, y))
        print("no error")
    except mpt.Error as error:
        print(f"target {target}:", str(error).splitlines()[0])


def layers_left_out(model, x, y):
    z = model(x)
    if torch.rand([]) < 0.0 or not torch.rand(1) > 0.0 or torch.rand(()) >= 1.0:
        z = z * 2
    if torch.rand([]) <= 1.0:
        z = z * 3
    z = z * (torch.rand(8, 3) < 1.0) + (torch.rand_like(z) > 1.0)  # These decide nothing.
    return F.cross_entropy(z, y)


def shifted(model, x, y):
    """Random numbers that are changed in place are no longer from [0, 1)."""
    u, v = torch.rand(1000).sub_(0.5), torch.rand(1000)
    v[:] = -1
    return F.cross_entropy(model(x) * ((u < 0).float().mean() > 0.1) * ((v >= 0).sum() < 1), y)


check("layers left out", layers_left_out)
check("random numbers that change", shifted)
check("converted", lambda model, x, y: F.cross_entropy(
    model.to(model.weight.dtype).to("cpu")(x), y))


def warned(name, loss):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        check(name, loss)
    print("warned:", *{str(w.message).replace("\n ", "") for w in found
                       if "step" in str(w.message)})


def finite(model, x, y):
    z = model(x)
    if torch.isinf(z).any() or not torch.isfinite(z).all():
        z = z.clamp(-10, 10)
    return F.cross_entropy(z, y)


def drawn_outside(model, x, y):
    return F.cross_entropy(model(x), y) + 0 * random.random()


warned("finite", finite)
warned("drawn outside", drawn_outside)


def caught(model, x, y):
    try:
        if (y > 5).any():
            raise ValueError
    except ValueError:
        x = 2 * x
    return model(x).sum()


def caught_around(model, x, y):
    try:
        with torch.no_grad():
            assert (y > 5).any()
    except AssertionError:
        x = 2 * x
    return model(x).sum()


def any_error_caught(model, x, y):
    """Which is that of PyTorch, too."""
    try:
        assert (y > 5).any()
    except Exception:
        x = 2 * x
    return model(x).sum()


def conversion_caught(model, x, y):
    try:
        return model.to(torch.float64)(x.double()).float().sum()
    except RuntimeError:
        return model(x).sum()


def number_caught(model, x, y):
    try:
        return model(x)[:int(y.max())].sum()
    except:
        return model(x).sum()


def suppressed(model, x, y):
    with contextlib.suppress(AssertionError):
        assert (y > 5).any()
        x = 2 * x
    return model(x).sum()


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        return kind is not None


class Passes:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        if error[0] is None:
            return None
        return False


@contextlib.contextmanager
def swallowing():
    try:
        yield
    except AssertionError:
        pass


@contextlib.contextmanager
def passing():
    with Passes():
        try:
            yield
        finally:
            pass


quiet = contextlib.suppress


def make_quiet(kind):
    return quiet(kind)


def make_precision():
    return torch.autocast("cpu", enabled=False)


def managers_that_pass(model, x, y):
    passes = Passes()
    with torch.no_grad(), make_precision(), contextlib.nullcontext(), Passes(), passing(), passes:
        assert (y >= 0).all()
    with warnings.catch_warnings(), torch.autocast(
            "cpu", enabled=False), torch.autograd.profiler.record_function("loss"):
        assert (y < 3).all()
    return F.cross_entropy(model(x), y)


check("managers that pass", managers_that_pass)


def suppressed_by(make):
    def loss(model, x, y):
        with make() as _, torch.no_grad():
            assert (y > 5).any()
        return model(x).sum()
    return loss


def try_again(model, x, y):
    for scale in (1, 2):
        try:
            errors(model, x, scale * y)
        except ValueError:
            x = 2 * x
    return model(x).sum()


def finite_and_more(model, x, y):
    is_bad = torch.isnan(x)
    is_bad |= x > 1
    if is_bad.any():
        x = 2 * x
    return model(x).sum()


def any_row(model, x, y):
    z, chosen = model(x), y > 0
    return z[chosen].sum() if chosen.any() else 0 * z.sum()


def decision(model, x, y):
    if (y > 5).any():
        x = 2 * x
    return model(x).sum()


def warning(model, x, y):
    if (y > 5).any():
        warnings.warn("labels")
    return model(x).sum()


def random_decision(model, x, y):
    if torch.rand([]) < 0.1:
        x = 2 * x
    return model(x).sum()


def conversion(model, x, y):
    return model.to(torch.float64)(x.double()).float().sum()


def matching(model, x, y):
    return model(x)[torch.from_numpy(y.numpy().argsort())].sum()


def unique_values(model, x, y):
    return model(x)[y.unique()].sum()


def factors(model, x, y):
    lu, pivots = torch.linalg.lu_factor(x[:6])
    return torch.linalg.lu_solve(lu, pivots, model(x)[:6]).sum()


def eigenvalues(model, x, y):
    return torch.linalg.eigvals(model(x)[:3]).abs().sum()


def trigamma(model, x, y):
    return torch.polygamma(1, model(x).exp()).sum()


model = layer()
for loss in (caught, caught_around, any_error_caught, conversion_caught, number_caught,
             suppressed, try_again, finite_and_more, any_row, decision, warning,
             random_decision, conversion, matching, unique_values, factors, eigenvalues, trigamma):
    name = {"caught": "error that is caught"}.get(loss.__name__, loss.__name__.replace("_", " "))
    refused(name, mpt.torch.TrainStep, model, loss, sgd(model), batches[0])
for name, make in (("own manager", Swallows), ("own generator", swallowing),
                   ("other name", lambda: quiet(AssertionError)),
                   ("made by a function", lambda: make_quiet(AssertionError)),
                   ("stack of managers", contextlib.ExitStack)):
    refused(name, mpt.torch.TrainStep, model, suppressed_by(make), sgd(model), batches[0])
refused("sparse example", mpt.torch.TrainStep, model, lambda model, a: model(a).sum(), sgd(model),
        (batches[0][0].to_sparse(),))
model.register_buffer("matrix", torch.eye(3).to_sparse())
refused("sparse buffer", mpt.torch.TrainStep, model, lambda model, x, y: model(x).sum(),
        sgd(model), batches[0])
