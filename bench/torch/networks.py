"""The networks that are measured, with random weights, and a batch for each.

ResNets as in the paper of He et al. (2015), the stride of a bottleneck in its 3x3 convolution;
BERT-base from the configuration that transformers gives, for classification into two classes.
Weights are normal with the spread that He et al. give, so that global magnitude leaves wide layers
sparser than narrow ones, as after training. (PyTorch's own uniform weights have no tails: global
magnitude empties the widest layers.)
"""

from dataclasses import dataclass
from typing import Callable

import torch
from torch import nn


class Block(nn.Module):
    """Convolutions with batch norm around a shortcut: two 3x3, or 1x1, 3x3, 1x1."""

    def __init__(self, inputs: int, width: int, stride: int, bottleneck: bool):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        if bottleneck:
            shapes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        else:
            shapes = [(inputs, width, 3, stride), (width, outputs, 3, 1)]
        layers = []
        for channels, out, kernel, step in shapes:
            conv = nn.Conv2d(channels, out, kernel, step, kernel // 2, bias=False)
            layers += [conv, nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*layers[:-1])
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.body(x) + self.shortcut(x))


def with_normal_weights(network: nn.Sequential) -> nn.Sequential:
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
    return network


def resnet(depths: tuple[int, ...], bottleneck: bool, classes: int = 1000) -> nn.Module:
    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for index in range(depth):
            stride = 2 if stage > 0 and index == 0 else 1
            layers.append(Block(channels, width, stride, bottleneck))
            channels = 4 * width if bottleneck else width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]
    return with_normal_weights(nn.Sequential(*layers))


def mlp() -> nn.Module:
    return with_normal_weights(
        nn.Sequential(
            nn.Linear(3072, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10)
        )
    )


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        from transformers import BertConfig, BertForSequenceClassification

        self.model = BertForSequenceClassification(BertConfig())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens).logits


@dataclass(frozen=True)
class Workload:
    make: Callable[[], nn.Module]
    batch: int
    inputs: Callable[[int], torch.Tensor]  # of a batch size
    classes: int
    options: dict  # of sparsify


def _images(batch: int) -> torch.Tensor:
    return torch.randn(batch, 3, 224, 224)


def _tokens(batch: int) -> torch.Tensor:
    return torch.randint(1000, 30000, (batch, 128))


_ENCODER = {"include": ["model.bert.encoder.*"], "method": "global"}

WORKLOADS = {
    "mlp": Workload(mlp, 128, lambda batch: torch.randn(batch, 3072), 10, {"method": "erk"}),
    "resnet18": Workload(lambda: resnet((2, 2, 2, 2), False), 16, _images, 1000, {}),
    "resnet50": Workload(lambda: resnet((3, 4, 6, 3), True), 16, _images, 1000, {}),
    "bert": Workload(Bert, 4, _tokens, 2, _ENCODER),
}
