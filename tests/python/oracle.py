"""The dense layer with the same weights, and comparison of outputs and all gradients with it."""

import torch

# Sums of up to a few thousand products of numbers around 1, in another order.
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


def gradients(layer, weights, x, dy, after=lambda y: y):
    """Output of after(layer(x)) and gradients of x, weights and bias for its gradient dy."""
    x = x.detach().clone().requires_grad_()
    parameters = [weights] if layer.bias is None else [weights, layer.bias]
    y = after(layer(x))
    return y.detach(), *torch.autograd.grad(y, [x, *parameters], dy)


def assert_matches_dense(sparse, x, dy=None):
    """In double precision, up to 1e-5 of the largest entry: sums of float32 over many products."""
    dense = sparse.to_dense().double()
    x64 = x.double()
    if dy is None:
        dy = torch.randn_like(dense(x64)).float()
    expected = gradients(dense, dense.weight, x64, dy.double())
    actual = gradients(sparse, sparse.values, x, dy)
    for name, got, want in zip(("y", "dx", "values", "bias"), actual, expected):
        want = want[sparse.mask] if name == "values" else want
        largest = want.abs().max().item() if want.numel() else 0
        torch.testing.assert_close(
            got.double(),
            want,
            rtol=0,
            atol=1e-5 * largest + 1e-6,
            msg=lambda text, name=name: f"{name}: {text}",
        )


def assert_relu_in_the_kernel_is_relu(fused, x, dy):
    plain = type(fused).from_dense(fused.to_dense(), fused.mask)
    expected = gradients(plain, plain.values, x, dy, after=torch.relu)
    for got, want in zip(gradients(fused, fused.values, x, dy), expected):
        torch.testing.assert_close(got, want, **CLOSE)
