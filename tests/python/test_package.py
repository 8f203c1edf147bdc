"""The package around the layers: missing PyTorch, warnings of the runtime, malformed masks."""

import os
import subprocess
import sys

import pytest
import torch

from sparsejit import _core


def run_python(program, **environment):
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_without_pytorch_the_configuration_shows_and_layers_explain():
    output = run_python(
        "import sys; sys.modules['torch'] = None\n"
        "import sparsejit; print(sparsejit.show_config())\n"
        "try: sparsejit.SparseLinear\n"
        "except ImportError as error: print(error)\n"
    )
    assert "AVX2 and FMA" in output and "pip install torch" in output


def test_lines_of_the_runtimes_log_become_warnings():
    output = run_python(
        "import warnings, torch, sparsejit\n"
        "layer = sparsejit.SparseLinear(20, 20, sparsity=0.5)\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    layer(torch.randn(9, 20))\n"
        "for warning in caught: print(warning.category.__name__, warning.message)\n",
        SPARSEJIT_PROFILE="nonsense",
    )
    assert "RuntimeWarning sparsejit: " in output and "nonsense" in output


def test_the_portable_engine_gives_the_same_numbers():
    program = (
        "import torch, sparsejit\n"
        "torch.manual_seed(4)\n"
        "layer = sparsejit.SparseLinear(20, 20, sparsity=0.5)\n"
        "y = layer(torch.randn(9, 20)); y.square().sum().backward()\n"
        "print(layer.report()[0]['engine'], y.sum().item(), layer.values.grad.sum().item())\n"
    )
    engine, *portable = run_python(program, SPARSEJIT_ISA="portable").split()
    other, *numbers = run_python(program).split()
    assert engine == "portable" != other
    assert [float(n) for n in portable] == pytest.approx([float(n) for n in numbers], rel=1e-4)


@pytest.mark.parametrize(
    "size, shape, message",
    [
        (1, [3], "1 dimensions, expected 2"),
        (1, [-1, 3], "negative size -1"),
        (1, [2**40, 2**40], "more than 2\\^63"),
        (2, [2, 4], "2 packed bytes, expected 1 for 2x4"),
    ],
)
def test_malformed_packed_masks_name_the_value(size, shape, message):
    with pytest.raises(ValueError, match=message):
        _core.Mask.from_packed(torch.zeros(size, dtype=torch.uint8), shape)


def test_bits_behind_the_last_position_are_refused():
    with pytest.raises(ValueError, match="after the last of 3 positions"):
        _core.Mask.from_packed(torch.tensor([15], dtype=torch.uint8), [1, 3])


def test_bits_are_those_of_numpy_packbits():
    numpy = pytest.importorskip("numpy")
    mask = torch.rand(7, 5) < 0.5
    core = _core.Mask.from_dense(mask.view(torch.uint8).flatten(), [7, 5])
    expected = numpy.packbits(mask.numpy().flatten(), bitorder="little")
    assert core.packed().tolist() == expected.tolist()
    assert _core.Mask.from_packed(core.packed(), [7, 5]) == core
