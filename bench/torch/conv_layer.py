"""One convolution, forward and backward: PyTorch dense and with masks, against SparseConv2d, and
against the package sparseprop where it is installed.

    python bench/torch/conv_layer.py --shape 256x128x3 --image 7 --batch 8 --sparsity 0.95

The default is the layer of the SparseProp paper. Padding keeps the size at stride 1. Gradients of x
and of the weights are computed, of sparse layers at the stored weights only. Outputs are compared
before timing; contenders take turns and medians are shown.
"""

import argparse

import other_packages
import torch
from contest import Contest

import sparsejit


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="256x128x3", help="outputs x inputs x kernel size")
    parser.add_argument("--image", type=int, default=7, help="height and width")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--sparsity", type=float, default=0.95)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--warm-up", type=int, default=10)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    out, inputs, kernel = map(int, arguments.shape.split("x"))
    layer = sparsejit.SparseConv2d(
        *(inputs, out, kernel, arguments.stride, kernel // 2),
        bias=False,
        sparsity=arguments.sparsity,
    )
    dense, unmasked, mask = layer.to_dense(), layer.dense().requires_grad_(), layer.mask.float()
    x = torch.randn(arguments.batch, inputs, arguments.image, arguments.image)
    contest = Contest(torch.randn_like(dense(x)))
    contest.add("dense", dense, x, [dense.weight])
    contest.add(
        "masked",
        lambda x: torch.nn.functional.conv2d(x, unmasked * mask, None, layer.stride, layer.padding),
        x,
        [unmasked],
    )
    other_packages.add_sparseprop_conv(contest, layer.to_dense(), x, arguments.threads)
    contest.add("sparsejit", layer, x, [layer.values])
    contest.run(arguments.warm_up, arguments.runs)


if __name__ == "__main__":
    main()
