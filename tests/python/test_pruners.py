"""Pruners on modules: when they change masks, to what, and what happens to optimizer state."""

import pytest
import torch
from torch import nn

from sparsejit import (
    SET,
    AlternatingDense,
    Constant,
    GradualMagnitude,
    OneShotMagnitude,
    RigL,
    SparseConv2d,
    SparseLinear,
    move_optimizer_state,
)
from sparsejit.schedule import Schedule, plan_schedule


def row(values, mask=None):
    """A layer of one output with these weights."""
    weight = torch.tensor([values])
    layer = SparseLinear(
        len(values), 1, bias=False, mask=torch.ones_like(weight) if mask is None else mask
    )
    layer.values.data = weight[layer.mask]
    return layer


def train_step(layer, optimizer, gradient=1.0):
    """A step in which every stored weight has this gradient."""
    optimizer.zero_grad()
    (layer(torch.full((1, layer.in_features), gradient))).sum().backward()
    optimizer.step()


def test_schedule_counts_updates():
    schedule = Schedule(first=2, interval=3, updates=3)
    assert [schedule.due(step) for step in range(1, 13)] == [
        None,
        0,
        None,
        None,
        1,
        None,
        None,
        2,
        None,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ({"total_steps": 100}, Schedule(10, 6, 11)),
        ({"total_steps": 100, "first": 20, "end": 60, "interval": 10}, Schedule(20, 10, 5)),
        ({"total_steps": 40, "first": 20, "end": 60, "interval": 10}, Schedule(20, 10, 3)),
        ({"total_steps": 1}, Schedule(1, 1, 1)),
    ],
)
def test_schedules_fill_in_what_is_left_open(arguments, expected):
    assert plan_schedule(**arguments) == expected


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"total_steps": 0}, "total_steps: 0"),
        ({"total_steps": 10, "first": 11}, "first: 11, expected at most the 10"),
        ({"total_steps": 10, "first": 5, "end": 4}, "end: 4, expected at least 5"),
        ({"total_steps": 10, "interval": 0}, "interval: 0"),
    ],
)
def test_schedules_that_cannot_be_name_the_value(arguments, message):
    with pytest.raises(ValueError, match=message):
        plan_schedule(**arguments)


def test_momentum_does_not_revive_a_pruned_weight():
    layer = row([1.0, 1.0])
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    train_step(layer, optimizer)
    change = layer.set_mask(torch.tensor([[1, 0]]))
    move_optimizer_state(optimizer, layer.values, change)
    for expected in (0.71, 0.439, 0.0951):
        train_step(layer, optimizer)
        torch.testing.assert_close(layer.dense(), torch.tensor([[expected, 0.0]]))


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.1),
        lambda p: torch.optim.AdamW(p, lr=0.1, amsgrad=True),
    ],
)
def test_state_follows_its_weight_and_new_weights_start_fresh(make):
    layer = SparseLinear(6, 5, bias=False, sparsity=0.4)
    optimizer = make(layer.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.randn(4, 6)).square().sum().backward()
        optimizer.step()
    before = {k: layer.dense(v) for k, v in optimizer.state[layer.values].items() if v.dim()}
    assert before
    mask = torch.rand(5, 6) < 0.5
    kept = mask & layer.mask
    move_optimizer_state(optimizer, layer.values, layer.set_mask(mask))
    state = optimizer.state[layer.values]
    for key, entry in before.items():
        assert torch.equal(layer.dense(state[key]), entry * kept), key
    values = layer.values.detach().clone()
    optimizer.zero_grad()
    layer(torch.randn(4, 6)).square().sum().backward()
    optimizer.step()
    assert not torch.equal(layer.values, values)


def test_gradual_magnitude_reaches_exactly_what_was_asked():
    layer = SparseLinear(50, 20, sparsity=0.0)
    pruner = GradualMagnitude(
        layer, total_steps=100, sparsity=0.45, initial_sparsity=0.05, first=10, end=45, interval=5
    )
    zeros = {}
    for step in range(1, 101):
        for change in pruner.step().values():
            zeros[step] = 1000 - layer.nnz
            assert change.added == 0
    assert list(zeros) == [10, 15, 20, 25, 30, 35, 40, 45]
    assert zeros[25] == 400 and zeros[45] == 450


def test_gradual_magnitude_of_a_run_that_is_shorter_than_planned():
    layer = SparseLinear(50, 20, sparsity=0.0)
    pruner = GradualMagnitude(layer, total_steps=23, sparsity=0.45, first=10, end=90, interval=5)
    for _ in range(23):
        pruner.step()
    assert 1000 - layer.nnz == 450


def test_gradual_magnitude_over_all_layers_keeps_the_largest():
    model = nn.Sequential(row([1.0, 2.0, 3.0, 4.0]), nn.Flatten(), row([10.0, 20.0, 0.5, 0.1]))
    pruner = GradualMagnitude(model, total_steps=1, sparsity=0.5, scope="global")
    pruner.step()
    assert torch.equal(model[0].dense(), torch.tensor([[0.0, 0, 3, 4]]))
    assert torch.equal(model[2].dense(), torch.tensor([[10.0, 20, 0, 0]]))


def test_one_shot_prunes_once():
    layer = row([0.3, -0.1, 0.2, -0.4])
    pruner = OneShotMagnitude(layer, sparsity=0.5, at_step=2)
    assert [bool(pruner.step()) for _ in range(5)] == [False, True, False, False, False]
    assert torch.equal(layer.mask, torch.tensor([[True, False, False, True]]))


def test_constant_changes_nothing():
    layer = SparseLinear(8, 8, sparsity=0.5)
    pruner = Constant(layer)
    before = layer.mask_hash
    assert not any(pruner.step() for _ in range(20)) and layer.mask_hash == before


def test_alternating_dense_takes_turns_and_ends_sparse():
    layer = SparseLinear(20, 10, sparsity=0.0)
    pruner = AlternatingDense(layer, total_steps=40, sparsity=0.9, first=4, end=36, interval=8)
    stored = []
    for _ in range(40):
        pruner.step()
        stored.append((layer.nnz, layer.runs_dense))
    assert [stored[i] for i in (2, 3, 11, 19, 27, 35, 39)] == [
        (200, True),
        (20, False),
        (200, True),
        (20, False),
        (200, True),
        (20, False),
        (20, False),
    ]


def test_alternating_dense_ends_sparse_with_an_even_number_of_updates():
    layer = SparseLinear(20, 10, sparsity=0.0)
    pruner = AlternatingDense(layer, total_steps=40, sparsity=0.9, first=4, end=28, interval=8)
    for _ in range(40):
        pruner.step()
    assert layer.nnz == 20 and pruner.schedule.updates == 3


def rigl_on(weights, mask, dense_gradient):
    """One step of RigL, drop 1 and grow 1, in which the loss has this gradient."""
    layer = row(weights, torch.tensor([mask]))
    pruner = RigL(layer, total_steps=1, fraction=0.5)
    layer(torch.tensor([dense_gradient])).sum().backward()
    return layer, pruner.step()


def test_rigl_grows_at_zero_where_the_gradient_is_largest():
    layer, changes = rigl_on([3.0, 0.1, 0.0, 0.0], [1, 1, 0, 0], [0.5, 0.2, 0.9, -2.0])
    assert torch.equal(layer.mask, torch.tensor([[True, False, False, True]]))
    assert torch.equal(layer.values.detach(), torch.tensor([3.0, 0.0]))
    assert changes[""].added == changes[""].removed == 1


def test_rigl_that_regrows_what_it_dropped_changes_nothing():
    layer, changes = rigl_on([3.0, 0.1, 0.0, 0.0], [1, 1, 0, 0], [0.5, 9.0, 0.9, -2.0])
    assert torch.equal(layer.values.detach(), torch.tensor([3.0, 0.1])) and not changes


@pytest.mark.parametrize(
    "make",
    [
        lambda **kw: SparseLinear(6, 5, sparsity=0.6, **kw),
        lambda **kw: SparseConv2d(4, 6, 3, 2, 1, groups=2, sparsity=0.6, **kw),
        lambda **kw: SparseConv2d(4, 6, (2, 3), padding="same", sparsity=0.6, **kw),
    ],
)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
def test_dense_gradients_are_those_of_the_dense_layer(make, relu):
    layer = make(relu=relu)
    x = torch.randn(3, 7, 6) if isinstance(layer, SparseLinear) else torch.randn(3, 4, 7, 6)
    pruner = RigL(layer, total_steps=4, first=1, end=1)
    dense = layer.to_dense()
    for _ in range(2):
        layer(x).square().sum().backward()
        y = dense(x)
        (torch.relu(y) if relu else y).square().sum().backward()
    gradient = pruner.gradients.of(layer)
    torch.testing.assert_close(gradient, dense.weight.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(gradient[layer.mask], layer.values.grad, rtol=1e-4, atol=1e-4)


def test_rigl_computes_dense_gradients_on_update_steps_only(monkeypatch):
    layer = SparseLinear(20, 10, sparsity=0.8)
    calls = []
    original = SparseLinear.dense_weight_gradient
    monkeypatch.setattr(
        SparseLinear,
        "dense_weight_gradient",
        lambda self, x, dy: calls.append(step) or original(self, x, dy),
    )
    pruner = RigL(layer, total_steps=20, first=3, end=12, interval=4)
    for step in range(1, 21):
        layer(torch.randn(4, 20)).square().sum().backward()
        with torch.no_grad():
            layer(torch.randn(4, 20))
        pruner.step()
    assert calls == [3, 7, 11]


def test_rigl_keeps_the_number_of_weights_and_moves_fewer_over_time():
    layer = SparseLinear(50, 40, sparsity=0.8)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01, momentum=0.9)
    pruner = RigL(layer, optimizer, total_steps=30, first=2, end=20, interval=2)
    for _ in range(30):
        optimizer.zero_grad()
        layer(torch.randn(8, 50)).square().sum().backward()
        optimizer.step()
        pruner.step()
        assert layer.nnz == 400
    assert pruner.moved_weights(0, layer) == 120 > pruner.moved_weights(9, layer) > 0


def test_layers_no_gradient_reached_keep_their_mask():
    model = nn.ModuleList([SparseLinear(9, 9, sparsity=0.5), SparseLinear(9, 9, sparsity=0.5)])
    pruner = RigL(model, total_steps=1, fraction=0.9)
    before = model[1].mask_hash
    model[0](torch.randn(4, 9)).square().sum().backward()
    assert list(pruner.step()) == ["0"] and model[1].mask_hash == before


def set_masks(seed, interrupted):
    torch.manual_seed(5)
    layer = SparseLinear(30, 20, sparsity=0.8)

    def make():
        return SET(layer, total_steps=20, first=2, end=16, interval=2, seed=seed)

    pruner = make()
    for step in range(20):
        if interrupted and step == 9:
            state, pruner = pruner.state_dict(), make()
            pruner.load_state_dict(state)
        pruner.step()
    assert layer.nnz == 120
    return layer.mask_hash


def test_set_depends_on_its_seed_and_survives_a_checkpoint():
    assert set_masks(1, False) == set_masks(1, True)
    assert set_masks(1, False) != set_masks(2, False)


def test_rigl_survives_a_checkpoint_just_before_an_update():
    layer = SparseLinear(10, 10, sparsity=0.5)
    pruner = RigL(layer, total_steps=20, first=5, end=5)
    state = {"steps_done": 4}
    pruner.load_state_dict(state)
    layer(torch.randn(4, 10)).square().sum().backward()
    assert pruner.step() and pruner.state_dict() == {"steps_done": 5}


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda m: GradualMagnitude(m, total_steps=9, sparsity=1.2), "1.2"),
        (lambda m: GradualMagnitude(m, total_steps=9, sparsity=0.5, initial_sparsity=0.6), "0.6"),
        (lambda m: OneShotMagnitude(m, sparsity=0.5, scope="rows"), "rows"),
        (lambda m: RigL(m, total_steps=9, fraction=-0.1), "-0.1"),
        (lambda m: RigL(nn.Linear(3, 3), total_steps=9), "Linear has no sparse layers"),
    ],
)
def test_wrong_arguments_name_the_value(make, message):
    with pytest.raises(ValueError, match=message):
        make(SparseLinear(8, 8, sparsity=0.5))
