"""A BERT-like and a ResNet-like network in PyTorch, of any size."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

WORDS, CLASSES = 1000, 10


class BertLike(nn.Module):
    """Tokens in, classes out."""

    def __init__(self, small: bool = False) -> None:
        super().__init__()
        width, layers, self.tokens = (32, 1, 16) if small else (768, 12, 128)
        self.words = nn.Embedding(WORDS, width)
        layer = nn.TransformerEncoderLayer(width, nhead=width // 16 if small else 12,
                                           dim_feedforward=4 * width, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.encoder(self.words(tokens)).mean(dim=1))

    def inputs(self, batch: int, device: Any) -> Any:
        """Random ones."""
        return torch.randint(WORDS, (batch, self.tokens), device=device)


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.way = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels))

    def forward(self, x: Any) -> Any:
        return torch.relu(x + self.way(x))


class ResNetLike(nn.Module):
    """Images in, classes out."""

    def __init__(self, small: bool = False) -> None:
        super().__init__()
        channels, blocks, self.size = (8, 2, 16) if small else (64, 16, 224)
        self.layers = nn.Sequential(
            nn.Conv2d(3, channels, 7, stride=2, padding=3), nn.ReLU(),
            *(Block(channels) for _ in range(blocks)),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))

    def forward(self, images: Any) -> Any:
        return self.layers(images)

    def inputs(self, batch: int, device: Any) -> Any:
        """Random ones."""
        return torch.rand(batch, 3, self.size, self.size, device=device)


MODELS = {"bert": BertLike, "resnet": ResNetLike}


def device_of(cpu: bool) -> Any:
    """The GPU, unless there is none or it is not wanted."""
    return torch.device("cuda" if torch.cuda.is_available() and not cpu else "cpu")
