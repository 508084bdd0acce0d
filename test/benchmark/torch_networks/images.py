"""Networks of images and video."""

import math

import torch
from torch import nn
import torch.nn.functional as F

from .batches import images, integers
from .layers import Attention, Block, mlp


class ConvNeXt(nn.Module):
    """Depthwise 7x7, layer norm over channels, 4 times wider; 8 images of 96x96."""

    def __init__(self, widths=(64, 128, 256), depth=2):
        super().__init__()
        layers, inputs, patch = [], 3, 4
        for width in widths:
            layers.append(nn.Conv2d(inputs, width, patch, patch))
            layers += [self.Block(width) for _ in range(depth)]
            inputs, patch = width, 2
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(inputs, 100)

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.conv = nn.Conv2d(width, width, 7, padding=3, groups=width)
            self.norm = nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            y = self.norm(self.conv(x).permute(0, 2, 3, 1))
            return x + self.down(F.gelu(self.up(y))).permute(0, 3, 1, 2)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(x).mean((2, 3))).float(), y)


class Mobile(nn.Module):
    """Inverted residuals, hardswish, squeeze and excitation; 16 images of 96x96."""

    def __init__(self):
        super().__init__()
        layers, inputs = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish()], 16
        for width, stride, count in ((24, 2, 2), (40, 2, 3), (112, 2, 3), (160, 2, 2)):
            for i in range(count):
                layers.append(self.Block(inputs, width, stride if i == 0 else 1))
                inputs = width
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(inputs, 100)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            wide = 4 * inputs
            self.expand = nn.Sequential(nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide),
                                        nn.Hardswish(),
                                        nn.Conv2d(wide, wide, 5, stride, 2, groups=wide, bias=False),
                                        nn.BatchNorm2d(wide), nn.Hardswish())
            self.down, self.up = nn.Conv2d(wide, wide // 4, 1), nn.Conv2d(wide // 4, wide, 1)
            self.project = nn.Sequential(nn.Conv2d(wide, outputs, 1, bias=False),
                                         nn.BatchNorm2d(outputs))
            self.isResidual = inputs == outputs and stride == 1

        def forward(self, x):
            y = self.expand(x)
            y = y * F.hardsigmoid(self.up(F.relu(self.down(y.mean((2, 3), keepdim=True)))))
            y = self.project(y)
            return x + y if self.isResidual else y

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.layers(x).mean((2, 3))).float(), y)


class UNet(nn.Module):
    """32 wide and 3 levels deep; 4 images of 128x128."""

    def __init__(self, width=32, levels=3):
        super().__init__()
        self.down, self.up, self.merge = (nn.ModuleList() for _ in range(3))
        inputs = 3
        for level in range(levels):
            self.down.append(self.convolutions(inputs, width << level))
            inputs = width << level
            self.up.append(nn.ConvTranspose2d(2 * inputs, inputs, 2, 2))
            self.merge.append(self.convolutions(2 * inputs, inputs))
        self.bottom, self.head = self.convolutions(inputs, 2 * inputs), nn.Conv2d(width, 4, 1)

    @staticmethod
    def convolutions(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                             nn.GroupNorm(8, outputs), nn.SiLU(),
                             nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
                             nn.GroupNorm(8, outputs), nn.SiLU())

    def forward(self, x, y):
        kept = []
        for down in self.down:
            kept.append(down(x))
            x = F.max_pool2d(kept[-1], 2)
        x = self.bottom(x)
        for up, merge, before in reversed(list(zip(self.up, self.merge, kept))):
            x = merge(torch.cat([up(x), before], 1))
        return F.cross_entropy(self.head(x).float(), y)


class Mixer(nn.Module):
    """6 layers of an MLP-Mixer, 196 patches of width 384; 8 images of 224x224."""

    def __init__(self, width=384, patches=196, layers=6):
        super().__init__()
        self.patch, self.head = nn.Conv2d(3, width, 16, 16), nn.Linear(width, 100)
        self.blocks = nn.ModuleList([nn.ModuleList([
            nn.LayerNorm(width), nn.Linear(patches, 256), nn.Linear(256, patches),
            nn.LayerNorm(width), nn.Linear(width, 1536), nn.Linear(1536, width)])
            for _ in range(layers)])

    def forward(self, x, y):
        x = self.patch(x).flatten(2).transpose(1, 2)
        for n0, a, b, n1, c, d in self.blocks:
            x = x + b(F.gelu(a(n0(x).transpose(1, 2)))).transpose(1, 2)
            x = x + d(F.gelu(c(n1(x))))
        return F.cross_entropy(self.head(x.mean(1)).float(), y)


class DeepLab(nn.Module):
    """DeepLabV3 on MobileNetV3 of torchvision, dilations of 2 to 36; 4 images of 256x256."""

    def __init__(self):
        super().__init__()
        import torchvision
        self.model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
            weights=None, weights_backbone=None, num_classes=21)
        for module in self.model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0

    def forward(self, x, y):
        return F.cross_entropy(self.model(x)["out"].float(), y)


class Video(nn.Module):
    """A ResNet-18 of 3-D convolutions of torchvision; 2 clips of 8 images of 112x112."""

    def __init__(self):
        super().__init__()
        import torchvision
        self.model = torchvision.models.video.r3d_18(num_classes=400)

    def forward(self, x, y):
        return F.cross_entropy(self.model(x).float(), y)


class Segmentation(nn.Module):
    """Dilated convolutions, bilinear upsampling, and a dice and a focal loss."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.Hardswish())
        self.branches = nn.ModuleList([nn.Conv2d(32, 16, 3, padding=r, dilation=r) for r in (1, 3, 6)])
        self.pooled, self.head = nn.Conv2d(32, 16, 1), nn.Conv2d(64, 5, 1)

    def forward(self, x, y):
        h = self.stem(x)
        pooled = F.interpolate(self.pooled(F.adaptive_avg_pool2d(h, 1)), size=h.shape[2:],
                               mode="bilinear", align_corners=False)
        h = self.head(torch.cat([branch(h) for branch in self.branches] + [pooled], 1))
        z = F.interpolate(h, size=x.shape[2:], mode="bilinear", align_corners=True).float()
        p, hot = z.softmax(1), F.one_hot(y.clamp(max=4), 5).permute(0, 3, 1, 2).float()
        dice = 1 - (2 * (p * hot).sum((2, 3)) + 1) / ((p + hot).sum((2, 3)) + 1)
        sure = torch.exp(-F.cross_entropy(z, y, ignore_index=255, reduction="none"))
        focal = (1 - sure) ** 2 * -torch.log(sure + 1e-8)
        return F.cross_entropy(z, y, ignore_index=255) + dice.mean() + focal.mean()


class Volume(nn.Module):
    """3-D convolutions, pooling and norms over 4 volumes of 16x24x24."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv3d(1, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2),
            nn.Conv3d(16, 32, 3, padding=1, stride=(1, 2, 2)), nn.InstanceNorm3d(32, affine=True),
            nn.LeakyReLU(.1), nn.AvgPool3d(2), nn.ConvTranspose3d(32, 16, 2, 2), nn.ELU(),
            nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 5))

    def forward(self, x, y):
        return F.cross_entropy(self.layers(x).float(), y)


class Detection(nn.Module):
    """4 layers of attention between 180 pixels and 20 queries, as DETR has them."""

    def __init__(self, width=64):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 4, 1), nn.ReLU(), nn.Conv2d(32, width, 3, 2, 1))
        self.places = nn.Parameter(torch.randn(180, 1, width) * .1)
        self.queries = nn.Parameter(torch.randn(20, 1, width) * .1)
        self.layers = nn.Transformer(width, 4, 2, 2, 128, dropout=0.)
        self.head = nn.Linear(width, 10)

    def forward(self, x, y):
        h = self.stem(x).flatten(2).permute(2, 0, 1) + self.places
        z = self.layers(h, self.queries.expand(-1, x.shape[0], -1))
        return F.cross_entropy(self.head(z).flatten(0, 1).float(), y.flatten())


class Inverted(nn.Module):
    """Inverted residuals with squeeze and excitation; 8 images of 64x64."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1, bias=False), nn.BatchNorm2d(24), nn.SiLU())
        self.blocks = nn.ModuleList([self.Block(24, 24, 4, 3, 1), self.Block(24, 40, 4, 5, 2),
                                     self.Block(40, 40, 6, 5, 1), self.Block(40, 80, 6, 3, 2)])
        self.head = nn.Linear(80, 37)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, times, kernel, stride):
            super().__init__()
            wide = inputs * times
            self.up = nn.Sequential(nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide),
                                    nn.SiLU(),
                                    nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide,
                                              bias=False), nn.BatchNorm2d(wide), nn.SiLU())
            self.squeeze, self.excite = nn.Conv2d(wide, inputs // 4, 1), nn.Conv2d(inputs // 4, wide, 1)
            self.down = nn.Sequential(nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
            self.isResidual = inputs == outputs and stride == 1

        def forward(self, x):
            y = self.up(x)
            y = y * torch.sigmoid(self.excite(F.silu(self.squeeze(y.mean((2, 3), keepdim=True)))))
            y = self.down(y)
            return x + y if self.isResidual else y

    def forward(self, x, y):
        h = self.stem(x)
        for block in self.blocks:
            h = block(h)
        return F.cross_entropy(self.head(h.mean((2, 3))).float(), y)


class Involution(nn.Module):
    """Kernels of 7x7 that each pixel computes for itself (Li et al. 2021)."""

    def __init__(self, width=32, groups=4, kernel=7):
        super().__init__()
        self.groups, self.kernel = groups, kernel
        self.stem, self.norm = nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width)
        self.reduce, self.span = nn.Conv2d(width, 8, 1), nn.Conv2d(8, kernel ** 2 * groups, 1)
        self.head = nn.Linear(width, 10)

    def forward(self, x, y):
        x = F.relu(self.norm(self.stem(x)))
        b, c, h, w = x.shape
        weights = self.span(F.relu(self.reduce(x))).view(b, self.groups, 1, -1, h, w)
        patches = F.unfold(x, self.kernel, padding=self.kernel // 2)
        patches = patches.view(b, self.groups, c // self.groups, -1, h, w)
        x = x + (weights * patches).sum(3).view(b, c, h, w)
        return F.cross_entropy(self.head(x.mean((2, 3))).float(), y)


class SpatialTransformer(nn.Module):
    """Images turned by a transform that they compute (Jaderberg et al. 2015)."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(),
                                  nn.Conv2d(8, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
                                  nn.Linear(90, 32), nn.ReLU(), nn.Linear(32, 6))
        self.layers = nn.Sequential(nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(),
                                    nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
                                    nn.Linear(320, 50), nn.ReLU(), nn.Linear(50, 10))

    def forward(self, x, y):
        turn = self.look(x).float().view(-1, 2, 3) + torch.eye(2, 3)
        x = F.grid_sample(x, F.affine_grid(turn, list(x.shape), align_corners=False),
                          align_corners=False)
        return F.cross_entropy(self.layers(x).float(), y)


class Capsules(nn.Module):
    """Capsules with three rounds of routing by agreement (Sabour et al. 2017)."""

    def __init__(self):
        super().__init__()
        self.stem, self.first = nn.Conv2d(1, 32, 9, 2), nn.Conv2d(32, 64, 5, 2)
        self.weights = nn.Parameter(torch.randn(72, 10, 8, 8) * .05)

    @staticmethod
    def squash(x):
        square = (x * x).sum(-1, keepdim=True)
        return x * square / (1 + square) / torch.sqrt(square + 1e-8)

    def forward(self, x, y):
        h = self.first(F.relu(self.stem(x)))
        h = self.squash(h.float().reshape(h.shape[0], 72, 8))
        votes = torch.einsum("bic,ijcd->bijd", h, self.weights)
        logits = torch.zeros(h.shape[0], 72, 10)
        for _ in range(3):
            z = self.squash((logits.softmax(2)[..., None] * votes).sum(1).float())
            logits = logits + (votes * z[:, None]).sum(-1)
        lengths, hot = torch.sqrt((z * z).sum(-1) + 1e-8), F.one_hot(y, 10).float()
        return (hot * F.relu(.9 - lengths) ** 2
                + .5 * (1 - hot) * F.relu(lengths - .1) ** 2).sum(1).mean()


class SmallConvNeXt(nn.Module):
    """A stage of ConvNeXt with scales of its layers (Liu et al. 2022)."""

    def __init__(self, width=48, depth=2):
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, width, 4, 4), nn.Linear(width, 10)
        self.blocks = nn.ModuleList([nn.ModuleDict(dict(
            conv=nn.Conv2d(width, width, 7, padding=3, groups=width), norm=nn.LayerNorm(width),
            up=nn.Linear(width, 4 * width), down=nn.Linear(4 * width, width)))
            for _ in range(depth)])
        self.scales = nn.ParameterList([torch.full((width,), 1e-2) for _ in range(depth)])

    def forward(self, x, y):
        x = self.stem(x)
        for block, scale in zip(self.blocks, self.scales):
            z = block["norm"](block["conv"](x).permute(0, 2, 3, 1))
            z = scale * block["down"](F.gelu(block["up"](z)))
            x = x + z.permute(0, 3, 1, 2)
        return F.cross_entropy(self.head(x.mean((2, 3))).float(), y)


class VisionTransformer(nn.Module):
    def __init__(self, width=192, depth=4, patch=16, size=128):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.places = nn.Parameter(torch.randn((size // patch) ** 2 + 1, width) * .02)
        self.one = nn.Parameter(torch.zeros(1, 1, width))
        self.layers = nn.Sequential(*[Block(width, 3, F.scaled_dot_product_attention) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 100)

    def forward(self, x, y):
        h = self.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.one.expand(x.shape[0], -1, -1).to(h.dtype), h], 1) + self.places
        return F.cross_entropy(self.head(self.norm(self.layers(h))[:, 0]).float(), y)


class Windows(nn.Module):
    """Attention in windows of 7x7, every other block shifted by 3 (Swin, Liu et al. 2021)."""

    def __init__(self, width=64, heads=4, window=7, size=28):
        super().__init__()
        self.window, self.patches = window, nn.Conv2d(3, width, 4, 4)
        self.bias = nn.Parameter(torch.randn(heads, window ** 2, window ** 2) * .02)
        attend = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, self.bias.to(q.dtype))
        self.first = nn.ModuleList([Block(width, heads, attend) for _ in range(2)])
        self.merge = nn.Linear(4 * width, 2 * width, bias=False)
        self.norm = nn.LayerNorm(2 * width)
        self.second = nn.Sequential(*[Block(2 * width, heads, F.scaled_dot_product_attention) for _ in range(2)])
        self.head = nn.Linear(2 * width, 50)

    def forward(self, x, y):
        h = self.patches(x).permute(0, 2, 3, 1)
        b, n, _, c = h.shape
        w = self.window
        for i, block in enumerate(self.first):
            h = torch.roll(h, (-3 * i, -3 * i), (1, 2))
            parts = h.view(b, n // w, w, n // w, w, c).transpose(2, 3).reshape(-1, w * w, c)
            h = block(parts).view(b, n // w, n // w, w, w, c).transpose(2, 3).reshape(b, n, n, c)
            h = torch.roll(h, (3 * i, 3 * i), (1, 2))
        h = h.view(b, n // 2, 2, n // 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, n * n // 4, 4 * c)
        h = self.second(self.merge(h))
        return F.cross_entropy(self.head(self.norm(h).mean(1)).float(), y)


class Adversaries(nn.Module):
    """A generator against a discriminator of 32x32 images (DCGAN, Radford et al. 2016)."""

    def __init__(self, width=32):
        super().__init__()
        up = lambda i, o: [nn.ConvTranspose2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU()]
        self.make = nn.Sequential(
            nn.ConvTranspose2d(64, 4 * width, 4, bias=False), nn.BatchNorm2d(4 * width), nn.ReLU(),
            *up(4 * width, 2 * width), *up(2 * width, width), nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())
        self.judge = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(.2), nn.Conv2d(width, 2 * width, 4, 2, 1),
            nn.BatchNorm2d(2 * width), nn.LeakyReLU(.2), nn.Conv2d(2 * width, 4 * width, 4, 2, 1),
            nn.BatchNorm2d(4 * width), nn.LeakyReLU(.2), nn.Conv2d(4 * width, 1, 4), nn.Flatten(0))

    def forward(self, real, noise):
        made = self.judge(self.make(noise)).float()
        true = self.judge(real).float()
        return F.softplus(-true).mean() + F.softplus(made).mean()


class Diffusion(nn.Module):
    """The noise of an image at a time, by residual blocks and attention (DDPM, Ho et al. 2020)."""

    class Residual(nn.Module):
        def __init__(self, inputs, outputs, time=64):
            super().__init__()
            self.first = nn.Sequential(nn.GroupNorm(8, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
            self.time = nn.Linear(time, outputs)
            self.second = nn.Sequential(nn.GroupNorm(8, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1))
            self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

        def forward(self, x, t):
            h = self.first(x) + self.time(t)[:, :, None, None]
            return self.skip(x) + self.second(h)

    class Attention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = nn.GroupNorm(8, width)
            self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x)).view(b, 3, 1, c, h * w).transpose(3, 4).unbind(1)
            y = F.scaled_dot_product_attention(q, k, v)
            return x + self.out(y.transpose(2, 3).reshape(b, c, h, w))

    def __init__(self, width=32):
        super().__init__()
        R = self.Residual
        self.time = nn.Sequential(nn.Linear(width, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList([R(width, width), R(width, 2 * width)])
        self.halve = nn.ModuleList([nn.Conv2d(width, width, 3, 2, 1), nn.Conv2d(2 * width, 2 * width, 3, 2, 1)])
        self.middle, self.attention = R(2 * width, 2 * width), self.Attention(2 * width)
        self.up = nn.ModuleList([R(4 * width, width), R(2 * width, width)])
        self.head = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))
        self.width = width

    def forward(self, image, noise, time):
        share = torch.cos(time * (math.pi / 2))[:, None, None, None]
        x = share * image + torch.sqrt(1 - share ** 2) * noise
        angles = time[:, None] * 10 ** torch.linspace(0, 3, self.width // 2)
        t = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        h, kept = self.stem(x), []
        for block, halve in zip(self.down, self.halve):
            h = block(h, t)
            kept.append(h)
            h = halve(h)
        h = self.attention(self.middle(h, t))
        for block in self.up:
            h = F.interpolate(h, scale_factor=2.)
            h = block(torch.cat([h, kept.pop()], 1), t)
        return F.mse_loss(self.head(h).float(), noise)


class Autoencoder(nn.Module):
    """A variational autoencoder of 32 images of 28x28, with transposed convolutions."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1),
                                    nn.ReLU(), nn.Flatten())
        self.mean, self.scale = nn.Linear(1568, 20), nn.Linear(1568, 20)
        self.decode = nn.Sequential(
            nn.Linear(20, 1568), nn.ReLU(), nn.Unflatten(1, (32, 7, 7)),
            nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1))

    def forward(self, x, noise):
        h = self.encode(x)
        mean, scale = self.mean(h), self.scale(h)
        y = torch.sigmoid(self.decode(mean + noise * torch.exp(.5 * scale)).float())
        loss = F.binary_cross_entropy(y, x, reduction="sum")
        return (loss - .5 * (1 + scale - mean.pow(2) - scale.exp()).sum()) / x.shape[0]


class Classifier(nn.Module):
    """A network of timm with its loss."""

    def __init__(self, name):
        super().__init__()
        import timm
        self.model = timm.create_model(name)

    def forward(self, x, y):
        return F.cross_entropy(self.model(x).float(), y)


class Radiance(nn.Module):
    """Density and color of points along rays, in waves of their places (NeRF, Mildenhall et al. 2020)."""

    def __init__(self, width=256):
        super().__init__()
        widths = (63, width, width, width), (width + 63, width, width)
        self.first, self.second = (nn.ModuleList([nn.Linear(n, width) for n in part]) for part in widths)
        self.density, self.feature = nn.Linear(width, 1), nn.Linear(width, width)
        self.view, self.color = nn.Linear(width + 27, width // 2), nn.Linear(width // 2, 3)

    @staticmethod
    def encode(x, waves):
        z = (x[..., None] * 2. ** torch.arange(waves)).flatten(-2)
        return torch.cat([x, torch.sin(z), torch.cos(z)], -1)

    def forward(self, points, rays, lengths, colors):
        places = z = self.encode(points, 10)
        views = self.encode(rays, 4)[:, None].expand(-1, points.shape[1], -1)
        for layer in self.first:
            z = F.relu(layer(z))
        z = torch.cat([z, places], -1)
        for layer in self.second:
            z = F.relu(layer(z))
        alpha = 1 - torch.exp(-F.relu(self.density(z))[..., 0].float() * lengths)
        z = F.relu(self.view(torch.cat([self.feature(z), views], -1)))
        seen = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
        color = ((alpha * seen)[..., None] * torch.sigmoid(self.color(z).float())).sum(1)
        return F.mse_loss(color, colors)


class MixtureTransformer(nn.Module):
    """A vision transformer whose tokens weigh two of eight MLPs (V-MoE, Riquelme et al. 2021)."""

    class Layer(nn.Module):
        def __init__(self, width, heads, experts):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.attention, self.route = Attention(width, heads), nn.Linear(width, experts)
            self.up = nn.Parameter(torch.randn(experts, width, 2 * width) * width ** -.5)
            self.down = nn.Parameter(torch.randn(experts, 2 * width, width) * (2 * width) ** -.5)

        def forward(self, x):
            x = x + self.attention(self.norms[0](x))
            z = self.norms[1](x)
            most, which = self.route(z).float().softmax(-1).topk(2, -1)
            weights = torch.zeros(*z.shape[:2], len(self.up)).scatter(-1, which, most)
            hidden = F.gelu(torch.einsum("btw,ewf->ebtf", z, self.up))
            z = torch.einsum("ebtf,efw->ebtw", hidden, self.down)
            return x + (weights.permute(2, 0, 1)[..., None].to(z.dtype) * z).sum(0)

    def __init__(self, width=192):
        super().__init__()
        self.patches, self.head = nn.Conv2d(3, width, 16, 16), nn.Linear(width, 100)
        self.places = nn.Parameter(torch.randn(1, 64, width) * .02)
        self.layers = nn.Sequential(*[self.Layer(width, 3, 8) for _ in range(3)])

    def forward(self, x, y):
        z = self.layers(self.patches(x).flatten(2).transpose(1, 2) + self.places)
        return F.cross_entropy(self.head(z.mean(1)).float(), y)


class SkipTransformer(nn.Module):
    """The noise of an image by a transformer with long skips (U-ViT, Bao et al. 2023)."""

    class Layer(nn.Module):
        def __init__(self, width, heads, skips=False):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.attention, self.layers = Attention(width, heads, False), mlp(width, 4 * width, nn.GELU())
            self.skip = nn.Linear(2 * width, width) if skips else None

        def forward(self, x, before=None):
            if self.skip:
                x = self.skip(torch.cat([x, before], -1))
            x = x + self.attention(self.norms[0](x))
            return x + self.layers(self.norms[1](x))

    def __init__(self, width=256, heads=4):
        super().__init__()
        self.patches, self.time = nn.Conv2d(4, width, 2, 2), mlp(width, 4 * width, nn.SiLU())
        self.places = nn.Parameter(torch.randn(1, 257, width) * .02)
        self.down = nn.ModuleList([self.Layer(width, heads) for _ in range(2)])
        self.middle = self.Layer(width, heads)
        self.up = nn.ModuleList([self.Layer(width, heads, True) for _ in range(2)])
        self.norm, self.head, self.smooth = nn.LayerNorm(width), nn.Linear(width, 16), nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x, time, noise):
        half = self.places.shape[-1] // 2
        angles = time[:, None] * 1000 * torch.exp(-math.log(1e4) * torch.arange(half) / half)
        z = torch.cat([self.time(torch.cat([angles.cos(), angles.sin()], -1))[:, None],
                       self.patches(x).flatten(2).transpose(1, 2)], 1) + self.places
        kept = []
        for layer in self.down:
            kept.append(z := layer(z))
        z = self.middle(z)
        for layer in self.up:
            z = layer(z, kept.pop())
        z = self.head(self.norm(z))[:, 1:].unflatten(1, (16, 16)).unflatten(-1, (2, 2, 4))
        z = z.permute(0, 5, 1, 3, 2, 4).reshape(x.shape)
        return F.mse_loss(self.smooth(z).float(), noise)


NETWORKS = {
    "convnext": (ConvNeXt, lambda: images(8, 96)),
    "mobile": (Mobile, lambda: images(16, 96)),
    "unet128": (UNet, lambda: (images(4, 128)[0], torch.randint(0, 4, (4, 128, 128)))),
    "mixer": (Mixer, lambda: images(8, 224)),
    "deeplab": (DeepLab, lambda: (images(4, 256)[0], torch.randint(0, 21, (4, 256, 256)))),
    "video": (Video, lambda: (torch.randn(2, 3, 8, 112, 112), torch.randint(0, 400, (2,)))),
    "segment": (Segmentation, lambda: (torch.randn(3, 3, 65, 47), integers(5, 3, 65, 47))),
    "volume": (Volume, lambda: (torch.randn(4, 1, 16, 24, 24), integers(5, 4))),
    "detect": (Detection, lambda: (torch.randn(2, 3, 96, 120), integers(10, 20, 2))),
    "inverted": (Inverted, lambda: (torch.randn(8, 3, 64, 64), integers(37, 8))),
    "involution": (Involution, lambda: (torch.randn(8, 3, 32, 32), integers(10, 8))),
    "stn": (SpatialTransformer, lambda: (torch.randn(16, 1, 28, 28), integers(10, 16))),
    "capsule": (Capsules, lambda: (torch.rand(16, 1, 28, 28), integers(10, 16))),
    "next": (SmallConvNeXt, lambda: (torch.randn(4, 3, 64, 64), integers(10, 4))),
    "vit": (VisionTransformer, lambda: (torch.randn(8, 3, 128, 128), integers(100, 8))),
    "swin": (Windows, lambda: (torch.randn(4, 3, 112, 112), integers(50, 4))),
    "gan": (Adversaries, lambda: (torch.rand(16, 3, 32, 32) * 2 - 1, torch.randn(16, 64, 1, 1))),
    "diffusion": (Diffusion, lambda: (torch.randn(4, 3, 32, 32), torch.randn(4, 3, 32, 32), torch.rand(4))),
    "vae": (Autoencoder, lambda: (torch.rand(32, 1, 28, 28), torch.randn(32, 20))),
    "nerf": (Radiance, lambda: (torch.randn(64, 32, 3), torch.randn(64, 3), torch.rand(64, 32),
                                torch.rand(64, 3))),
    "moevit": (MixtureTransformer, lambda: (torch.randn(4, 3, 128, 128), integers(100, 4))),
    "uvit": (SkipTransformer, lambda: (torch.randn(2, 4, 32, 32), torch.rand(2), torch.randn(2, 4, 32, 32))),
}
