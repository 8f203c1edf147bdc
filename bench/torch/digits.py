"""The digits in frontend/data as tensors: 1797 images of 8x8, the last 360 for testing."""

from pathlib import Path

import torch

_FOLDER = Path(__file__).parents[2] / "frontend" / "data"
_TEST = 360


def _read_idx(path: Path) -> torch.Tensor:
    """An IDX file of bytes: two zeros, type, number of axes, sizes (big-endian), entries."""
    content = path.read_bytes()
    axes = content[3]
    sizes = [int.from_bytes(content[4 * i + 4 : 4 * i + 8], "big") for i in range(axes)]
    entries = torch.frombuffer(bytearray(content[4 * axes + 4 :]), dtype=torch.uint8)
    return entries.view(sizes)


def load_digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Training images (n, 64) with mean 0 and spread 1, labels (n,), test images, test labels."""
    images = _read_idx(_FOLDER / "digits-images-idx3-ubyte").flatten(1).float()
    labels = _read_idx(_FOLDER / "digits-labels-idx1-ubyte").long()
    images = (images - images.mean()) / images.std()
    return images[:-_TEST], labels[:-_TEST], images[-_TEST:], labels[-_TEST:]
