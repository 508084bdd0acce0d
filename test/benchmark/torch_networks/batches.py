"""Batches of networks."""

import torch


def integers(most, *shape):
    return torch.randint(0, most, shape)


def images(batch, size, classes=100):
    return torch.randn(batch, 3, size, size), integers(classes, batch)
