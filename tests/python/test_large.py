"""Tensors of more than 2 GiB, whose byte offsets do not fit 31 bits."""

import os

import pytest
import torch

from sparsejit import SparseLinear

FEATURES = 4
BATCH = 2**27 + 5  # 2 GiB and 80 bytes
NEEDED_BYTES = 12 << 30


def available_bytes():
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("layout", ["feature_major", "row_major"])
def test_both_passes(layout):
    if available_bytes() < NEEDED_BYTES:
        pytest.skip(f"needs {NEEDED_BYTES >> 30} GiB of free memory")
    mask = torch.tensor([[1, 0, 1, 0], [0, 0, 0, 1]])
    layer = SparseLinear(FEATURES, 2, bias=False, mask=mask, layout=layout)
    with torch.no_grad():
        layer.values.copy_(torch.tensor([2.0, 3.0, 5.0]))
    x = torch.zeros(BATCH, FEATURES)
    last = torch.tensor([1.0, 10.0, 100.0, 1000.0])
    x[-1] = x[BATCH // 2] = x[0] = last
    y = layer(x)
    expected = torch.tensor([302.0, 5000.0])
    for sample in (0, BATCH // 2, BATCH - 1):
        assert torch.equal(y[sample], expected)
    assert not y[1].any() and not y[BATCH - 2].any()
    (gradient,) = torch.autograd.grad(y, [layer.values], torch.ones(1, 1).expand(BATCH, 2))
    assert torch.equal(gradient, torch.tensor([3.0, 300.0, 3000.0]))
