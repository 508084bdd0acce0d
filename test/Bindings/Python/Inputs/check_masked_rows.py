"""Rows that a mask chooses, beside eager PyTorch."""
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from eager import compare, refused, sgd
import mpt.torch

warnings.filterwarnings("ignore")
generator = torch.Generator().manual_seed(1)
batches = [(torch.randn(8, 6, generator=generator), torch.tensor(classes)) for classes in (
    [0, 1, 2, 1, 0, 2, 1, 0], [1, 0, 0, 0, 0, 0, 2, 0], [2, 2, 1, 1, 1, 1, 1, 1])]


def check(loss):
    compare(loss.__name__, lambda: nn.Linear(6, 3), loss, batches, sgd)


def regression(model, x, y):
    kept, z = y > 0, model(x)
    return F.mse_loss(z[kept], x[kept, :3]) + F.l1_loss(z[kept], x[kept][:, :3], reduction="sum")


def classes(model, x, y):
    kept = y != 0
    z = model(x[kept])
    weight = torch.tensor([1.0, 2.0, 3.0], dtype=x.dtype)
    return F.cross_entropy(z.view(-1, 3), y[kept].view(-1), label_smoothing=0.1) \
        + F.nll_loss(z.log_softmax(-1), y[kept], weight=weight) \
        + F.kl_div(z.log_softmax(-1), torch.full_like(z, 1 / 3), reduction="batchmean") \
        + F.binary_cross_entropy_with_logits(z, F.one_hot(y[kept], 3).to(x.dtype))


def one_mask_twice(model, x, y):
    z, first, last = model(x), y > 0, y > 0
    last &= x[:, 0] > 0
    return F.cross_entropy(z[y != 0], y[y != 0]) + z[last].sum() + F.mse_loss(
        z[(y > 0) & (y < 2)], x[:, :3][(y > 0) & (y < 2)]) + z[first].square().sum()


def changed_between(model, x, y):
    """Two masks, though they are computed alike."""
    z, limits = model(x), torch.zeros(9, dtype=x.dtype)
    limit = limits[1:]
    first = z[x[:, 0] > limit].sum()
    limits.add_(0.5)
    return first + z[x[:, 0] > limit].sum()


def written_between(model, x, y):
    weight = model.weight
    first = weight[weight > 0].sum()
    weight.data.neg_()
    return first + weight[weight > 0].square().sum() + model(x).square().mean()


def logarithms(model, x, y):
    """Rows that are not chosen have no finite values."""
    z = model(x)
    return torch.sqrt(z[z > 0.1]).sum() - torch.log(z[z > 0.01]).mean()


def numbers_of_rows(model, x, y):
    z = model(x)[x[:, 0] > 0]
    ones = torch.ones(z.shape[0], 3, dtype=x.dtype)
    return z.sum() / max(1, z.shape[0]) + (z - ones).square().sum() / z.numel() + ones.sum()


def experts(model, x, y):
    weights, chosen = x[:, :4].softmax(-1).topk(2)
    result = torch.zeros(8, 3, dtype=x.dtype)
    for number in range(4):
        rows, place = torch.where(chosen == number)
        result.index_add_(0, rows, model(x[rows]) * weights[rows, place, None] * (number + 1))
    return result.square().mean()


def writes(model, x, y):
    z = model(x)
    result, ones = torch.zeros_like(z), y == 1
    result[ones] = z[ones].tanh() * 2
    twos = (y == 2).nonzero().squeeze(-1)
    result = result.index_put((twos,), z[twos] * 3)
    result[twos] += z[twos]
    result[y == 0] = 1.0
    return result.square().sum() / ones.sum().clamp(min=1)


def elements(model, x, y):
    z = model(x)
    kept, result = z > 0, torch.ones_like(z)
    result[kept] = (z[kept] * x[:, :3][kept]).exp()
    return result.mean() + torch.masked_select(z, x[:, :3] > 0).abs().mean() \
        + z.masked_select((y > 0)[:, None]).square().mean()


def joined(model, x, y):
    a, b = model(x)[y == 1], model(x)[y != 1]
    return F.binary_cross_entropy_with_logits(
        torch.cat([a, b]), torch.cat([torch.ones_like(a), torch.zeros_like(b)])) \
        + (a.mean(0) - b.mean(0)).square().sum()


def norms(model, x, y):
    z = F.layer_norm(model(x)[y != 0], (3,))
    return z.square().sum(1).amax() + z.norm() + z.logsumexp(0).sum() + z.amin(0).sum()


def of_two_dimensions(model, x, y):
    z = model(x).unsqueeze(0).expand(2, 8, 3)
    z = z[torch.stack([y == 0, y != 1])]
    return F.smooth_l1_loss(z, torch.zeros_like(z)) + z.softmax(-1).max(-1)[0].mean()


def places(model, x, y):
    rows = (y == 1).nonzero(as_tuple=True)[0]
    return model(x).index_select(0, rows).sum() / rows.numel() \
        + F.conv1d(model(x)[rows][:, None], torch.ones(1, 1, 2, dtype=x.dtype)).mean()


def pairs(model, x, y):
    distance = torch.cdist(model(x), model(x))
    same = (y[:, None] == y[None]) & ~torch.eye(8, dtype=torch.bool)
    other = y[:, None] != y[None]
    return distance[same].mean() + F.relu(1 - distance[other]).square().mean()


def in_place(model, x, y):
    z = model(x)[y != 0]
    z[:, 0] = 0
    z += 1
    return z.relu_().mean()


def without_gradient(model, x, y):
    with torch.no_grad():
        center = model(x)[y == 1].mean(0)
    return (model(x) - center).square().mean()


def regions(model, x, y):
    """The mask comes from outside, from inside, and goes on outside."""
    kept = y != 0
    with torch.no_grad():
        target, other = model(x)[kept], (2 * model(x))[y != 1]
        ones = y == 1
        last = x[ones]
    return F.mse_loss(model(x)[y != 0], target + 1) + (other + model(x)[y != 1]).square().mean() \
        + (model(x)[ones] * last[:, :3]).sum()


def masks_of_parts(model, x, y):
    """Masks that are computed twice of a part."""
    z = model(x)
    return F.mse_loss(z[x[:, 0] > 0], x[:, :3][x[:, 0] > 0]) + F.l1_loss(
        z.reshape(-1)[x[:, :3].reshape(-1) > 0], x[:, :3].reshape(-1)[x[:, :3].reshape(-1) > 0])


def rows_of_one_value(model, x, y):
    """As the embedding of masked time steps of Baevski et al., 2020."""
    z = model(x).reshape(2, 4, 3) * 1.0
    z[(y > 0).reshape(2, 4)] = model.bias
    last = model(x).index_put((y == 0,), model.bias[None])
    last[y == 2] += model.bias
    return z.square().mean() + (last * x[:, :3]).sum() * 0.1


def again(model, x, y):
    """Masks of chosen rows, as in torchvision's generalized_box_iou_loss."""
    z = model(x)[y != 0]
    result, kept = torch.zeros_like(z[:, 0]), (z[:, 0] > -0.5) & (z[:, 1] < 0.5)
    result[kept] = z[:, 1][kept] * x[y != 0][:, 2][kept]
    z = z * 1.0
    z[z[:, 0] > 0] = 0.5
    return z[z[:, 1] > 0].square().sum() / max(1, z.shape[0]) + (1 - result).mean()


def chosen_elements(model, x, y):
    """A column for each row, as RetinaNet (Lin et al., 2017) writes its targets."""
    z, kept = model(x), y != 1
    targets = torch.zeros_like(z)
    targets[kept, y[kept]] = 1.0
    more, grid = torch.zeros_like(z).reshape(2, 4, 3), kept.reshape(2, 4)
    more[grid, y.reshape(2, 4)[grid]] = x[:, 0].reshape(2, 4)[grid]
    return F.binary_cross_entropy_with_logits(z, targets) + z[kept, y[kept]].sum() * 0.1 \
        + (more * z.reshape(2, 4, 3)).mean()


def last_of_places(model, x, y):
    """Several rows have one place: the last one stays there."""
    _, columns = torch.where(torch.stack([y > 0, y < 2]))
    numbers = torch.full((8,), -1)
    numbers[columns] = (3 * torch.arange(8))[columns]
    table = torch.zeros(3, 6, dtype=x.dtype)
    table[y[columns]] = x[columns]
    return (model(x).sum(1) * numbers).mean() * 0.1 + model(table).square().mean()


def items(model, x, y):
    """Numbers that Python takes out of tensors."""
    z, kept = model(x), y > 0
    value = z.square().mean()
    return z[kept].sum() / max(1, kept.sum().item()) + value / (value.item() + 1) \
        + z.mean() * x.abs().max().item() * 0.1 - (y.sum().item() * 2 - 1) * z.mean() * 0.01


def columns(model, x, y):
    """Masks of other dimensions than the first."""
    z, kept = model(x), x[0, :3] > x[0, :3].mean()
    cube = z.reshape(2, 4, 3)
    result = F.mse_loss(z[:, kept], x[:, :3][:, kept]) + z[..., kept].exp().mean() \
        + (z[:, kept] - x[:, :3][:, x[0, :3] > x[0, :3].mean()]).abs().sum(1).mean()
    result = result + (cube[:, :, kept].amax(-1) * cube[:, :, kept].sum(0, keepdim=True).sum(2)) \
        .mean() + (z[:, kept] * x[:, 3:4]).sum() / z[:, kept].shape[1]
    rest = (cube[:, y[:4] < 2] * x[0, :3]).relu().sum(-1)
    return result + rest.mean(1).square().sum() + z[:, kept].std() + rest.amax((0, 1))


def written_columns(model, x, y):
    z, kept = model(x), x[0, :3] > x[0, :3].mean()
    result = torch.zeros_like(z)
    result[:, kept] = z[:, kept].tanh() * 2
    z = z * 1.0
    z[:, x[0, :3] < 0] = 0.5
    return result.square().sum() + z.mean()


def spreads(model, x, y):
    """Advantages as policies are trained by (Schulman et al., 2017)."""
    z, kept = model(x), x[:, 0] > -0.5
    gain = z[:, 0][kept]
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    return (gain * z[:, 1][kept]).mean() + z[kept].var(0).sum() \
        + z[kept].std((0, 1), correction=2) + z[kept].var(1).mean() \
        + z[kept].var(0, unbiased=False, keepdim=True).sum()


def scattered(model, x, y):
    """Rows for each class, by dimensions from the last, and sums at places; no row is of class 7."""
    z, kept = model(x), y != 1
    scaled, table = torch.zeros_like(z), torch.arange(6, dtype=x.dtype).sin()
    for number in range(3):
        places = (y == number).nonzero().view(-1)
        scaled.index_copy_(-2, places, z.index_select(-2, places) * (number + 1))
    place = y[kept].view(-1, 1).expand(-1, 3)
    sums = torch.zeros(3, 3, dtype=x.dtype).scatter_add_(0, place, z[kept])
    return scaled.square().mean() + sums.sin().sum() + (
        model.weight.sum(0) * table)[(y - 100)[y == 7]].sum()


def graph(model, x, y):
    """Edges without loops, and with one for each node, as in PyTorch Geometric, and what meets
    at their ends."""
    edges = torch.stack([y, y.roll(1)])
    edges = edges[:, edges[0] != edges[1]]
    row, column = torch.cat([edges, torch.arange(8).unsqueeze(0).repeat(2, 1)], 1)
    z, ones = model(x), torch.ones_like(row, dtype=x.dtype)
    degree = ones.new_zeros(8).scatter_add(0, column, ones.new_ones(ones.size(0)))
    sums = torch.zeros_like(z).index_add(0, column, z[row])
    # Nothing is at place 9.
    most = z.new_full((10,), 2).scatter_reduce_(0, edges[1], z[edges[0], 0], "amax",
                                                include_self=False)
    least = most.scatter_reduce(0, edges[0], z[edges[1]].mean(1).exp(), "prod")
    return (sums / degree[:, None]).square().sum() + (z[edges[0]] * z[edges[1]]).mean() + (
        most.square() * least).sum()


for loss in (regression, classes, one_mask_twice, changed_between,
             written_between, logarithms, numbers_of_rows, experts, writes, elements, joined,
             norms, of_two_dimensions, places, pairs, in_place, without_gradient,
             regions, masks_of_parts, rows_of_one_value, again, chosen_elements, last_of_places,
             items, columns, written_columns, spreads, scattered, graph):
    check(loss)

def transcription(model, x, y):
    """The CTC loss of transformers' speech models, whose targets are padded by -100."""
    kept = y >= 0
    return F.ctc_loss(model(x).log_softmax(-1), y.masked_select(kept), torch.tensor([12, 10, 8]),
                      kept.sum(-1), blank=0)


def lengths_of_other_masks(model, x, y):
    lengths = torch.stack([(row >= 0).sum() for row in y])
    return F.ctc_loss(model(x).log_softmax(-1), y[y >= 0], torch.tensor([12, 10, 8]), lengths,
                      reduction="sum", zero_infinity=True)


texts = [(torch.randn(12, 3, 6, generator=generator), torch.tensor(text)) for text in (
    [[1, 2, -100, -100], [2, 1, 2, 1], [1, -100, -100, -100]],
    [[2, -100, -100, -100], [1, 1, -100, -100], [2, 2, 1, -100]])]
for loss in (transcription, lengths_of_other_masks):
    compare(loss.__name__, lambda: nn.Linear(6, 3), loss, texts, sgd)

model = nn.Linear(6, 3)
step = mpt.torch.TrainStep(
    model, lambda model, x, y: {"loss": model(x)[y == 5].sum(), "mean": x[y == 5].mean()},
    torch.optim.SGD(model.parameters(), 0.0), batches[0])
result = step(*batches[0])
print("none is chosen:", result["mean"].item(), result.loss)


def softmax_of_columns(model, x, y):
    return model(x)[:, x[0, :3] > 0].softmax(1).square().sum()


def places_of_extremes(model, x, y):
    return model(x)[y != 0].max(0)[0].sum()


def products(model, x, y):
    z = model(x)[y != 0]
    return (z @ z.transpose(0, 1)).mean()


def length_of_rows(model, x, y):
    return model(x)[y > 0].sum() / len(y[y > 0])


def orders(model, x, y):
    return model(x)[:, 0][y != 0].sort()[0].sum()


def negative_norm(model, x, y):
    return torch.linalg.vector_norm(model(x)[y != 0], -1)


def two_masks(model, x, y):
    return (model(x)[y == 0] * model(x)[y == 1]).sum()


def two_orders(model, x, y):
    z, kept = model(x), y > 0
    return torch.cat([z[kept], x[:, :3]]).sum() + torch.cat([x[:, :3], z[kept]]).sum()


def a_column_for_each(model, x, y):
    return model(x)[y > 0].sum() + torch.ones(3, (y > 0).nonzero().size(0)).sum()


for loss in (softmax_of_columns, places_of_extremes, products, length_of_rows, orders,
             negative_norm, two_masks, two_orders, a_column_for_each):
    refused(loss.__name__, mpt.torch.TrainStep, model, loss, sgd(model), batches[0])
