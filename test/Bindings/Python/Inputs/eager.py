"""Training by a step beside the same loop of eager PyTorch."""
import torch

import mpt
import mpt.torch


def draw(count, generator=None):
    """Batches of 8 rows with 6 numbers and one of 3 classes."""
    generator = generator or torch.Generator().manual_seed(1)
    return [(torch.randn(8, 6, generator=generator),
             torch.randint(0, 3, (8,), generator=generator)) for _ in range(count)]


def layer():
    return torch.nn.Linear(6, 3)


def sgd(model):
    return torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)


def flatten(values):
    return torch.cat([torch.view_as_real(v.detach()).flatten().double() if v.is_complex()
                      else v.detach().flatten().double() for v in values])


def train(model, loss, optimizer, batches, before):
    losses = []
    for number, batch in enumerate(batches):
        before(number, model, optimizer)
        optimizer.zero_grad()
        value = loss(model, *batch)
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    return flatten([*losses, *model.state_dict().values()])


def to(dtype, values):
    return [v.to(dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v
            for v in values]


def compare(name, make, loss, batches, optimizer, before=lambda number, model, optimizer: None,
            scale=8, **options):
    """Losses and state_dict() of a step are as close to eager PyTorch in f64 as eager PyTorch in
    f32 is, times `scale`. `before` is called before each step."""
    def build(dtype):
        torch.manual_seed(0)
        model = make().to(dtype)
        return model, optimizer(model)

    model, own = build(torch.float64)
    exact = train(model, loss, own, [to(torch.float64, b) for b in batches], before)
    model, own = build(torch.float32)
    single = train(model, loss, own, batches, before)
    model, own = build(torch.float32)
    step = mpt.torch.TrainStep(model, loss, own, batches[0], **options)
    losses = []
    for number, batch in enumerate(batches):
        before(number, model, own)
        losses.append(torch.tensor(step(*batch).loss))
    step.sync_to(model)
    found = flatten([*losses, *model.state_dict().values()])
    bound = scale * ((exact - single).abs().max() + 2 ** -23 * exact.abs().max())
    error = (found - exact).abs().max()
    print(f"{name}:", "equal" if error <= bound else f"{error:.3g} above {bound:.3g}")
    return step


def refused(name, function, *arguments, **named):
    try:
        function(*arguments, **named)
        print(f"{name}: not refused")
    except (mpt.Error, mpt.torch.ExportError) as error:
        print(f"{name}: refused:", str(error).replace("\n", " "))
