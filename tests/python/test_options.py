"""When code is made and how engines are chosen: compile, expected_calls, deterministic."""

import copy
import io
import pickle
import time
from itertools import count

import pytest
import torch
from torch import nn

import sparsejit
from sparsejit import CompileOptions, SparseConv2d, SparseLinear
from sparsejit.masks import random_mask

_seeds = count(1)
_batches = count(1)


@pytest.fixture(autouse=True)
def batches_of_its_own():
    """The runtime remembers what was picked for a batch: each test has another one."""
    number = next(_batches)
    INPUTS.update(linear=(64 + 8 * number, 256), conv=(3 + number, 32, 14, 14))


def new_mask(*shape):
    """One that no layer had before: the runtime still has the code of those."""
    return random_mask(shape, 0.9, seed=next(_seeds))


MAKERS = {
    "linear": lambda **options: SparseLinear(256, 256, mask=new_mask(256, 256), **options),
    "conv": lambda **options: SparseConv2d(
        32, 32, 3, padding=1, mask=new_mask(32, 32, 3, 3), **options
    ),
}
INPUTS = {}
OTHERS = {"compile": "background", "expected_calls": 3, "deterministic": True}
kinds = pytest.mark.parametrize("kind", MAKERS)


def run(layer, kind):
    torch.manual_seed(2)
    x = torch.randn(INPUTS[kind], requires_grad=True)
    y = layer(x)
    dx, d_values = torch.autograd.grad(y.square().sum(), [x, layer.values])
    return y.detach(), dx, d_values


def waits_for_code(layer):
    """Whether a pass of the layer still runs interpreted because its code is being made."""
    return any("in the background" in entry["reason"] for entry in layer.report())


def run_until_compiled(layer, kind):
    results = [run(layer, kind)]
    deadline = time.monotonic() + 60
    while waits_for_code(layer):
        assert time.monotonic() < deadline, layer.explain()
        results.append(run(layer, kind))
    return results


@kinds
def test_code_made_in_the_background_gives_the_same_bits(kind):
    layer = MAKERS[kind](compile="background")
    results = [*run_until_compiled(layer, kind), *(run(layer, kind) for _ in range(8))]
    expected = run(type(layer).from_dense(layer.to_dense(), layer.mask), kind)
    # Code that lost against the interpreter is let go.
    for entry in layer.report():
        assert entry["code_bytes"] > 0 or entry["native_seconds"] > 0, layer.explain()
    for result in results:
        for got, want in zip(result, expected):
            assert torch.equal(got, want)


@kinds
@pytest.mark.parametrize("compile, generated", [("immediate", True), ("background", False)])
def test_set_mask_waits_for_code_only_when_compile_is_immediate(kind, compile, generated):
    layer = MAKERS[kind](compile=compile)
    run_until_compiled(layer, kind)
    change = layer.set_mask(new_mask(*layer.weight_shape))
    assert change.changed and (change.kernels_generated > 0) == generated
    run_until_compiled(layer, kind)
    assert all(entry["code_bytes"] > 0 for entry in layer.report()), layer.explain()


@kinds
def test_one_expected_call_compiles_nothing_and_many_do(kind):
    one, many = MAKERS[kind](expected_calls=1), MAKERS[kind](expected_calls=10**6)
    for layer in (one, many):
        run(layer, kind)
    assert all(entry["engine"] == "interpreted" for entry in one.report())
    assert "expected calls: 1;" in one.explain()
    assert sum(entry["code_bytes"] for entry in one.report()) == 0
    assert sum(entry["code_bytes"] for entry in many.report()) > 0


@kinds
def test_deterministic_layers_choose_at_once_and_measure_nothing(kind):
    layer = MAKERS[kind](deterministic=True, compile="background")
    run(layer, kind)
    first = [(entry["engine"], entry["reason"]) for entry in layer.report()]
    assert all(engine in ("native", "interpreted") for engine, _ in first)
    for _ in range(8):
        run(layer, kind)
    assert [(entry["engine"], entry["reason"]) for entry in layer.report()] == first
    assert all(entry["native_seconds"] == 0 for entry in layer.report())


def by_pickle(layer):
    return pickle.loads(pickle.dumps(layer))


def by_torch_save(layer):
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@kinds
@pytest.mark.parametrize("transfer", [copy.deepcopy, by_pickle, by_torch_save])
def test_copies_and_pickles_carry_the_options(kind, transfer):
    layer = transfer(MAKERS[kind](expected_calls=1))
    assert layer.compile_options == CompileOptions(expected_calls=1)
    run(layer, kind)
    assert "expected calls: 1;" in layer.explain()


def test_a_layer_pickled_before_there_were_options_has_the_defaults():
    layer = SparseLinear(12, 10, sparsity=0.7)
    state = layer.__getstate__()
    del state["compile_options"]
    old = SparseLinear.__new__(SparseLinear)
    old.__setstate__(state)
    assert old.compile_options == CompileOptions()
    assert torch.equal(old(torch.ones(1, 12)), layer(torch.ones(1, 12)))


@kinds
def test_loading_weights_keeps_the_options_of_the_layer(kind):
    source, layer = MAKERS[kind](expected_calls=7), MAKERS[kind](expected_calls=1)
    layer.load_state_dict(source.state_dict())
    assert torch.equal(layer.mask, source.mask) and layer.compile_options.expected_calls == 1
    run(layer, kind)
    assert "expected calls: 1;" in layer.explain()


def test_another_number_of_threads_keeps_the_options():
    layer = MAKERS["linear"](expected_calls=1)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        run(layer, "linear")
        assert "expected calls: 1;" in layer.explain()


def test_sparsify_gives_the_options_to_every_layer():
    model = nn.Sequential(nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 3), nn.Flatten(), nn.Linear(16, 8))
    sparsejit.sparsify(model, 0.9, method="global", **OTHERS)
    assert [model[i].compile_options for i in (0, 1, 3)] == [CompileOptions(**OTHERS)] * 3


def test_the_text_of_a_layer_names_what_is_not_default():
    text = repr(SparseLinear(12, 10, sparsity=0.5, compile="background", expected_calls=9))
    assert "compile='background', expected_calls=9, nnz=60" in text
    assert "expected_calls" not in repr(SparseLinear(12, 10, sparsity=0.5))


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"compile": "later"}, ValueError, "compile: 'later', expected one of immediate, back"),
        ({"compile": None}, ValueError, "compile: None, expected one of"),
        ({"expected_calls": -1}, ValueError, "expected_calls: -1, expected 0"),
        ({"expected_calls": 2**63}, ValueError, "expected_calls: 9223372036854775808, expected 0"),
        ({"expected_calls": 1.5}, TypeError, "expected_calls: 1.5, expected a whole number"),
        ({"deterministic": "no"}, TypeError, "deterministic: 'no', expected True or False"),
    ],
)
def test_wrong_options_name_the_value(options, error, message):
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8))
    for call in (
        lambda: SparseLinear(8, 8, sparsity=0.5, **options),
        lambda: SparseConv2d(8, 8, 1, sparsity=0.5, **options),
        lambda: SparseLinear.from_dense(model[0], **options),
        lambda: SparseConv2d.from_dense(nn.Conv2d(2, 2, 1), **options),
        lambda: sparsejit.sparsify(model, 0.5, **options),
    ):
        with pytest.raises(error, match=message):
            call()
    assert all(type(layer) is nn.Linear for layer in model)
