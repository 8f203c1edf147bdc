"""Rules that choose weights: sparsities of layers, magnitude, RigL, SET, schedules."""

import pytest
import torch

from sparsejit import pruning
from sparsejit.allocation import allocate, erk_densities


def flags(*entries):
    return torch.tensor(entries, dtype=torch.bool)


def test_stored_weights_rounds_the_zeros_half_away():
    assert pruning.stored_weights(10, 0.45) == 5
    assert pruning.stored_weights(1000, 0.45) == 550
    assert pruning.stored_weights(7, 0) == 7 and pruning.stored_weights(7, 1) == 0


def test_keep_largest_drops_lower_positions_of_ties_first():
    mask = flags(1, 1, 0, 1, 1)
    kept = pruning.keep_largest(mask, torch.tensor([0.5, -0.2, 0.5, 0.5]), 2)
    assert torch.equal(kept, flags(0, 0, 0, 1, 1))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", [1, 2])
def test_all_ties_give_the_same_mask(threads, seed):
    torch.manual_seed(seed)
    torch.set_num_threads(threads)
    kept = pruning.keep_largest(torch.ones(101, dtype=torch.bool), torch.full((101,), -0.3), 51)
    assert torch.equal(kept, torch.arange(101) >= 50)


def test_nan_counts_as_the_largest():
    values = torch.tensor([float("inf"), float("nan"), -1.0])
    kept = pruning.keep_largest(flags(1, 1, 1), values, 1)
    assert torch.equal(kept, flags(0, 1, 0))


def test_keep_largest_drops_stored_zeros_by_rule_only():
    mask = flags(1, 1, 0)
    assert torch.equal(pruning.keep_largest(mask, torch.zeros(2), 2), mask)


@pytest.mark.parametrize(
    "gradient, expected",
    [
        ([0.5, 0.2, 0.9, -2.0], flags(1, 0, 0, 1)),
        ([0.5, 9.0, 0.9, -2.0], flags(1, 1, 0, 0)),
    ],
)
def test_rigl_drops_the_smallest_and_grows_the_steepest(gradient, expected):
    mask, values = flags(1, 1, 0, 0), torch.tensor([3.0, 0.1])
    assert torch.equal(pruning.rigl_step(mask, values, torch.tensor(gradient), 1), expected)


def test_rigl_grows_lower_positions_of_ties_first():
    grown = pruning.rigl_step(flags(1, 0, 0, 0), torch.tensor([1.0]), torch.ones(4), 1)
    assert torch.equal(grown, flags(1, 0, 0, 0))
    grown = pruning.rigl_step(
        flags(0, 0, 0, 1), torch.tensor([1.0]), torch.tensor([0.0, 1, 1, 0]), 1
    )
    assert torch.equal(grown, flags(0, 1, 0, 0))


def test_set_grows_what_was_free_before_without_bias():
    mask, values = flags(1, 1, 1, 0, 0, 0), torch.tensor([0.1, 2.0, 3.0])
    counts = torch.zeros(6)
    generator = torch.Generator().manual_seed(3)
    for _ in range(600):
        grown = pruning.set_step(mask, values, 1, generator)
        assert grown.sum() == 3 and torch.equal(grown[:3], flags(0, 1, 1))
        counts += grown
    assert all(160 < count < 240 for count in counts[3:])


def test_set_moves_no_more_than_is_free():
    grown = pruning.set_step(flags(1, 1, 1, 0), torch.tensor([1.0, 2, 3]), 3, torch.Generator())
    assert torch.equal(grown, flags(0, 1, 1, 1))


def test_cubic_sparsity_is_at_40_percent_halfway_from_5_to_45():
    assert pruning.cubic_sparsity(0.05, 0.45, 0.5) == pytest.approx(0.40)
    assert pruning.cubic_sparsity(0.05, 0.45, 0) == pytest.approx(0.05)
    assert pruning.cubic_sparsity(0.05, 0.45, 1) == 0.45


def test_cosine_fraction_decays_to_nothing():
    values = [pruning.cosine_fraction(0.3, p) for p in (0, 0.5, 1)]
    assert values == pytest.approx([0.3, 0.15, 0])


def weights():
    return {"a": torch.randn(20, 10), "b": torch.randn(10, 4, 3, 3), "c": torch.randn(5, 30)}


def test_uniform_leaves_first_and_last_dense():
    masks = allocate(weights(), 0.9, "uniform")
    assert list(masks) == ["b"] and masks["b"].sum() == 36


def test_global_keeps_the_largest_of_all():
    layers = weights()
    layers["a"] *= 100
    masks = allocate(layers, 0.9, "global")
    kept = torch.cat([layers[name][mask].abs() for name, mask in masks.items()])
    dropped = torch.cat([layers[name][~mask].abs() for name, mask in masks.items()])
    assert len(kept) == 71 and kept.min() >= dropped.max()


def test_erk_stores_what_was_asked_for_and_caps_layers():
    shapes = {"big": (1000, 1000), "small": (10, 10), "conv": (64, 64, 3, 3)}
    densities = erk_densities(shapes, 0.05)
    stored = 1e6 * densities["big"] + 100 * densities["small"] + 36864 * densities["conv"]
    assert stored == pytest.approx(0.05 * 1036964)
    assert densities["small"] == 1.0
    ratio = densities["conv"] / densities["big"]
    assert ratio == pytest.approx((64 + 64 + 3 + 3) / 36864 / (2000 / 1e6))


def test_erk_at_the_ends():
    shapes = {"a": (10, 20), "b": (5, 5)}
    assert erk_densities(shapes, 0.0) == {"a": 0.0, "b": 0.0}
    assert erk_densities(shapes, 1.0) == {"a": 1.0, "b": 1.0}


def test_unknown_method_names_the_known():
    with pytest.raises(ValueError, match="'even', expected one of uniform, global, erk"):
        allocate(weights(), 0.9, "even")
