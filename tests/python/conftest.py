"""Shared by the tests: seeds, and comparison with the masked dense layer."""

import pytest
import torch


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)
    torch.set_num_threads(1)
