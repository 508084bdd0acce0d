"""Networks of reinforcement learning."""

import torch
from torch import nn
import torch.nn.functional as F

from .batches import integers


class Proximal(nn.Module):
    """Policy and value of PPO, with the clipped loss and an entropy (Schulman et al. 2017)."""

    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(17, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.mean, self.value = nn.Linear(width, 6), nn.Linear(width, 1)
        self.scale = nn.Parameter(torch.zeros(6))

    def forward(self, x, action, before, advantage, gain):
        h = self.body(x)
        mean, value = self.mean(h).float(), self.value(h).float().squeeze(1)
        chosen = -.5 * (((action - mean) / self.scale.exp()) ** 2).sum(1) - self.scale.sum()
        ratio = (chosen - before).exp()
        policy = torch.minimum(ratio * advantage, ratio.clamp(.8, 1.2) * advantage).mean()
        return .5 * F.mse_loss(value, gain) - policy - .01 * self.scale.sum()


class Rainbow(nn.Module):
    """Dueling heads over a distribution of returns, with noisy layers (Hessel et al. 2018)."""

    class Noisy(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.linear = nn.Linear(inputs, outputs)
            self.weight = nn.Parameter(torch.full((outputs, inputs), .01))
            self.bias = nn.Parameter(torch.full((outputs,), .01))

        def forward(self, x, noise):
            left, right = noise[:self.bias.shape[0]], noise[-x.shape[1]:]
            return F.linear(x, self.linear.weight + self.weight * torch.outer(left, right),
                            self.linear.bias + self.bias * left)

    def __init__(self, actions=6, atoms=51):
        super().__init__()
        self.shape = actions, atoms
        self.layers = nn.Sequential(nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2),
                                    nn.ReLU(), nn.Flatten())
        self.v0, self.v1 = self.Noisy(512, 128), self.Noisy(128, atoms)
        self.a0, self.a1 = self.Noisy(512, 128), self.Noisy(128, actions * atoms)

    def forward(self, x, action, target, noise):
        h = self.layers(x)
        value = self.v1(F.relu(self.v0(h, noise)), noise).unsqueeze(1)
        gain = self.a1(F.relu(self.a0(h, noise)), noise).view(-1, *self.shape)
        logs = F.log_softmax((value + gain - gain.mean(1, keepdim=True)).float(), -1)
        logs = logs.gather(1, action[:, None, None].expand(-1, 1, self.shape[1])).squeeze(1)
        return -(target * logs).sum(1).mean()


NETWORKS = {
    "ppo": (Proximal, lambda: (torch.randn(256, 17), torch.randn(256, 6), torch.randn(256) - 6,
                               torch.randn(256), torch.randn(256))),
    "rainbow": (Rainbow, lambda: (torch.rand(16, 4, 44, 44), integers(6, 16),
                                  torch.rand(16, 51).softmax(1), torch.randn(512))),
}
