"""Constants whose values decide about the graph: losses and all parameters after a step of SGD
equal PyTorch's in f64, as closely as PyTorch's in f32 does, times 8."""
import copy
import warnings

import torch
from torch import nn
from torch.nn import functional as F

import mpt.torch

warnings.filterwarnings("ignore")
torch.manual_seed(0)
NODES = 12
edges = torch.randint(0, NODES, (2, 40))
train = torch.rand(NODES) > 0.4
group = torch.arange(NODES) // 5
labels = torch.randint(0, 3, (NODES,))


def normalize(edges, dtype):
    """As PyTorch Geometric's gcn_norm: loops are replaced by one for each node."""
    edges = edges[:, edges[0] != edges[1]]
    loops = torch.arange(NODES)
    edges = torch.cat([edges, torch.stack([loops, loops])], 1)
    weight = torch.ones(edges.size(1), dtype=dtype)
    degree = weight.new_zeros(NODES).scatter_add_(0, edges[1], weight)
    scale = degree.pow_(-0.5)
    scale.masked_fill_(scale == float("inf"), 0)
    return edges, scale[edges[0]] * weight * scale[edges[1]]


class Graph(nn.Module):
    """Where the edges are: in a closure, an attribute or a buffer."""

    def __init__(self, place):
        super().__init__()
        self.linear = nn.Linear(4, 3)
        if place == "attribute":
            self.edges = edges.clone()
        elif place != "closure":
            self.register_buffer("edges", edges.clone(), persistent=place == "state")

    def forward(self, x):
        chosen, weight = normalize(getattr(self, "edges", edges), x.dtype)
        rows = self.linear(x)[chosen[0]] * weight[:, None]
        return x.new_zeros(NODES, 3).index_add(0, chosen[1], rows)


def masked(model, x):
    return F.cross_entropy(model(x)[train], labels[train])


def numbers(model, x):
    """Numbers of Python, and rows in places that a constant says."""
    count = int(group.max()) + 1
    sizes = torch.bincount(group).tolist()
    y = model(x)
    means = y.new_zeros(count, 3).index_add(0, group, y) / torch.tensor(sizes)[:, None]
    first = torch.stack([part[0] for part in y.split(sizes)])
    dense = y.new_zeros(count, max(sizes), 3)
    place = torch.arange(NODES) - torch.cat([torch.zeros(1).long(), torch.bincount(group).cumsum(0)
                                             ])[group]
    dense[group, place] = y
    valid = torch.zeros(count, max(sizes), dtype=torch.bool)
    valid[group, place] = True
    if not valid.all():
        means = means + 1
    return (dense[valid].square() * 0.5 + y.masked_select(train[:, None].expand(-1, 3)).sum()
            ).mean() + (means * first).sum()


def changed(model, x):
    """A mask that was a constant until a value of the batch changed it."""
    kept = torch.zeros(NODES)
    kept += train
    view = kept[2:]
    kept[0] = x[0, 0]
    view *= 3
    own = group[1:]
    own = own + 0
    own += 1
    return (model(x) * kept[:, None]).sum() + (model(x)[1:] * own[:, None]).mean()


def unknown(model, x):
    return model(x)[x[:, 0] > 0].sum()


# Sparse matrices of graph networks, as in Kipf and Welling (2017) and He et al. (2020).
adjacency = torch.zeros(NODES, NODES).index_put(tuple(edges), torch.rand(edges.shape[1]))
matrices = adjacency.to_sparse(), adjacency.to_sparse_csr()


def sparse(model, x):
    coo, csr = (m.to(x.dtype) for m in matrices)
    z = torch.sparse.mm(coo, model(x)) + csr @ (x[:, :3] - model(x))
    return (torch.spmm(coo.t(), z) * torch.mv(coo, z[:, 0])[:, None]).square().mean()


def sparse_of_values(model, x):
    return torch.sparse_coo_tensor(edges[:, :3], model(x)[0], (NODES, NODES)).to_dense().sum()


def step_of(model, loss, batch):
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    value = loss(model, *batch)
    value.backward()
    optimizer.step()
    return value.item(), torch.cat([p.detach().double().flatten() for p in model.parameters()])


before = [t.clone() for t in (edges, train, group, labels)]
for loss, place in ((masked, "closure"), (masked, "attribute"), (masked, "constant"),
                    (masked, "state"), (numbers, "closure"), (changed, "closure"),
                    (sparse, "closure"), (unknown, "closure"), (sparse_of_values, "closure")):
    model, batch = Graph(place), [torch.randn(NODES, 4)]
    exact = step_of(copy.deepcopy(model).double(), loss, [t.double() for t in batch])
    single = step_of(copy.deepcopy(model), loss, batch)
    try:
        step = mpt.torch.TrainStep(model, loss, torch.optim.SGD(model.parameters(), 0.5),
                                   example=batch)
    except (mpt.Error, mpt.torch.ExportError) as error:
        print(f"{loss.__name__} {place}: {error}")
        continue
    value, state = step(*batch).loss, step.state_dict()
    ours = value, torch.cat([state[n].double().flatten() for n, _ in model.named_parameters()])
    apart = [max(abs(a[0] - exact[0]) / (1 + abs(exact[0])), (a[1] - exact[1]).abs().max().item())
             for a in (ours, single)]
    print(loss.__name__, place, "equal" if apart[0] <= 8 * apart[1] + 1e-6 else
          f"differs by {apart[0]}, PyTorch by {apart[1]}")
# What is made of constants alone is computed once, and changes none of them.
text = mpt.torch.export(Graph("closure"), masked, (torch.randn(NODES, 4),)).text
print("in the graph:", text.count("aten.scatter_add"), text.count("aten.pow"))
print("as before:", all(map(torch.equal, before, (edges, train, group, labels))))
