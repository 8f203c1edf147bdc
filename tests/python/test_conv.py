"""SparseConv2d against nn.Conv2d with the same weights."""

import itertools

import pytest
import torch
from oracle import assert_matches_dense, assert_relu_in_the_kernel_is_relu

from sparsejit import SparseConv2d

GRID = list(
    itertools.product([1, 3, (3, 1), (1, 3), 5], [1, 2, (1, 3)], [0, 1, (3, 0)], [1, 2], [1, 2, 4])
)


@pytest.mark.parametrize("kernel, stride, padding, dilation, groups", GRID)
def test_equals_dense(kernel, stride, padding, dilation, groups):
    layer = SparseConv2d(4, 8, kernel, stride, padding, dilation, groups, sparsity=0.5)
    assert_matches_dense(layer, torch.randn(3, 4, 11, 9))


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("kernel, dilation", [(3, 1), (2, 1), ((4, 3), (1, 2))])
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
def test_named_padding(padding, kernel, dilation):
    layer = SparseConv2d(3, 5, kernel, padding=padding, dilation=dilation, sparsity=0.4)
    assert_matches_dense(layer, torch.randn(2, 3, 8, 10))


@pytest.mark.parametrize("size", [1, 2, 7, 8, 14, 17, 56])
@pytest.mark.parametrize("images", [1, 5, 16])
def test_sizes_of_images(size, images):
    layer = SparseConv2d(6, 5, 3, padding=1, sparsity=0.6, bias=False)
    assert_matches_dense(layer, torch.randn(images, 6, size, size))
    layer = SparseConv2d(6, 5, 1, sparsity=0.6)
    assert_matches_dense(layer, torch.randn(images, 6, size, size))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.to(memory_format=torch.channels_last),
        lambda t: torch.randn(6, 8, 20, 24)[1:4, 2:6, 5:16, ::2].copy_(t),
        lambda t: t[:1, :1].expand(3, 4, 11, 12),
        lambda t: t.permute(0, 1, 3, 2).contiguous().permute(0, 1, 3, 2),
    ],
)
def test_takes_any_strides(make):
    layer = SparseConv2d(4, 8, 3, padding=1, sparsity=0.5)
    x = make(torch.randn(3, 4, 11, 12))
    assert_matches_dense(layer, x)
    assert_matches_dense(layer, x, torch.ones(()).expand(3, 8, 11, 12))


def test_keeps_the_memory_format():
    layer = SparseConv2d(4, 8, 3, padding=1, sparsity=0.5)
    x = torch.randn(3, 4, 6, 6)
    assert layer(x).is_contiguous()
    x = x.to(memory_format=torch.channels_last).requires_grad_()
    y = layer(x)
    assert y.is_contiguous(memory_format=torch.channels_last)
    y.sum().backward()
    assert x.grad.is_contiguous(memory_format=torch.channels_last)


def test_takes_one_image_without_an_axis():
    layer = SparseConv2d(4, 8, 3, sparsity=0.5)
    assert_matches_dense(layer, torch.randn(4, 7, 6))


def test_no_images_work():
    layer = SparseConv2d(4, 8, 3, sparsity=0.5)
    x = torch.randn(0, 4, 7, 6, requires_grad=True)
    y = layer(x)
    assert y.shape == (0, 8, 5, 4)
    y.sum().backward()
    assert x.grad.shape == x.shape and torch.equal(layer.values.grad, torch.zeros(layer.nnz))


def test_relu_in_the_kernel_equals_relu_behind_it():
    fused = SparseConv2d(4, 6, 3, 2, 1, sparsity=0.5, relu=True)
    assert_relu_in_the_kernel_is_relu(fused, torch.randn(3, 4, 9, 9), torch.randn(3, 6, 5, 5))


def test_more_weights_in_a_channel_than_16_bits_count():
    layer = SparseConv2d(4096, 1, 3, sparsity=0.0, bias=False)
    assert_matches_dense(layer, torch.randn(1, 4096, 4, 4))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"padding_mode": "reflect"}, "reflect"),
        ({"groups": 3}, "groups: 3"),
        ({"stride": 0}, "stride: 0"),
        ({"padding": -1}, "padding: -1"),
        ({"padding": "full"}, "full"),
        ({"padding": "same", "stride": 2}, "stride"),
        ({"dilation": (1, 2, 3)}, "dilation"),
        ({"mask": torch.ones(8, 4, 3)}, "shape"),
    ],
)
def test_wrong_arguments_name_the_value(arguments, message):
    with pytest.raises(ValueError, match=message):
        SparseConv2d(4, 8, 3, **{"sparsity": None if "mask" in arguments else 0.5, **arguments})


@pytest.mark.parametrize(
    "shape, message",
    [
        ((2, 5, 8, 8), "expected .images, 4"),
        ((2, 4, 2, 8), "2x8 leave an output of 0x6"),
        ((4, 8), "shape .4, 8."),
    ],
)
def test_wrong_images_name_the_shape(shape, message):
    with pytest.raises(ValueError, match=message):
        SparseConv2d(4, 8, 3, sparsity=0.5)(torch.zeros(shape))


def test_other_types_name_the_cast():
    with pytest.raises(TypeError, match=r"x: torch\.float64"):
        SparseConv2d(4, 8, 3, sparsity=0.5)(torch.zeros(1, 4, 8, 8, dtype=torch.float64))
