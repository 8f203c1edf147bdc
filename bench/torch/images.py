"""Small labelled images as tensors, read from IDX files.

digits          frontend/data: 1797 images of 8x8, the last 360 for testing
Fashion-MNIST   60,000 images of 28x28 and 10,000 for testing, from the four files of the Debian
                package dataset-fashion-mnist or of any folder with their names
"""

import gzip
from pathlib import Path

import torch

Images = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")

_DIGITS = Path(__file__).parents[2] / "frontend" / "data"
_DIGITS_FOR_TESTING = 360


def _read_idx(path: Path) -> torch.Tensor:
    """An IDX file of bytes: two zeros, type, number of axes, sizes (big-endian), entries."""
    content = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    axes = content[3]
    sizes = [int.from_bytes(content[4 * i + 4 : 4 * i + 8], "big") for i in range(axes)]
    entries = torch.frombuffer(bytearray(content[4 * axes + 4 :]), dtype=torch.uint8)
    return entries.view(sizes)


def load_digits() -> Images:
    """Training images (n, 64) with mean 0 and spread 1, labels (n,), test images, test labels."""
    images = _read_idx(_DIGITS / "digits-images-idx3-ubyte").flatten(1).float()
    labels = _read_idx(_DIGITS / "digits-labels-idx1-ubyte").long()
    images = (images - images.mean()) / images.std()
    last = _DIGITS_FOR_TESTING
    return images[:-last], labels[:-last], images[-last:], labels[-last:]


def load_fashion_mnist(folder: Path = FASHION_MNIST) -> Images:
    """The same, with images (n, 1, 28, 28); mean and spread are those of the training images."""
    parts = []
    for part in ("train", "t10k"):
        for kind in ("images-idx3", "labels-idx1"):
            path = folder / f"{part}-{kind}-ubyte.gz"
            if not path.exists():
                raise SystemExit(f"{path} is missing: install dataset-fashion-mnist, or --folder")
            parts.append(_read_idx(path))
    images, labels, test_images, test_labels = parts
    images, test_images = (i.unsqueeze(1).float() for i in (images, test_images))
    mean, spread = images.mean(), images.std()
    return (
        (images - mean) / spread,
        labels.long(),
        (test_images - mean) / spread,
        test_labels.long(),
    )
