"""Networks of PyTorch that MPT was not tuned for, by field.

Each is a torch.nn.Module whose `forward` takes a batch and gives the loss, as in
networks_vs_pytorch.py and memory_vs_pytorch.py. Sizes are real or, where a name says so in its
module, small; weights are those of seed 0.
"""

import torch

from . import graphs, images, policies, sound, tables, words

# Name to the module's class, and what makes a batch.
NETWORKS = {}
for _field in (images, words, sound, graphs, tables, policies):
    assert not NETWORKS.keys() & _field.NETWORKS.keys(), "two networks have one name"
    NETWORKS.update(_field.NETWORKS)


def make(name, channels_last=False):
    """The network `name`, AdamW and a batch; timm/NAME is timm's, with 4 images of 224x224."""
    torch.manual_seed(0)
    if name.startswith("timm/"):
        network, batch = images.Classifier(name[len("timm/"):]), images.images(4, 224, 1000)
    else:
        make_network, make_batch = NETWORKS[name]
        network, batch = make_network(), make_batch()
    if channels_last and batch[0].dim() == 4:
        network.to(memory_format=torch.channels_last)
        batch = (batch[0].to(memory_format=torch.channels_last), *batch[1:])
    return network, torch.optim.AdamW(network.parameters(), 1e-3, fused=True), batch
