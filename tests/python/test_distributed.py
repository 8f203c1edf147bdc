"""Two processes under torchrun against one with the same batches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import sparsejit

EXAMPLE = str(Path(__file__).parents[2] / "bench" / "torch" / "data_parallel.py")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]


def run(command):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def losses_and_masks(command, pruner):
    lines = run([*command, EXAMPLE, "--pruner", pruner, "--steps", "40"])
    losses = [float(line.split()[-1]) for line in lines if line.startswith("step")]
    (masks,) = [line for line in lines if line.startswith("masks")]
    assert len(losses) == 40
    return torch.tensor(losses), masks


@pytest.mark.parametrize("pruner", ["rigl", "gradual"])
def test_two_processes_train_as_one(pruner):
    alone, masks = losses_and_masks([sys.executable], pruner)
    together, masks_together = losses_and_masks(TORCHRUN, pruner)
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)
    assert masks_together == masks
    assert together[-1] < 0.7 * together[0]


def test_ranks_with_different_masks_are_told(tmp_path):
    program = tmp_path / "differ.py"
    program.write_text(
        "import sys, torch, torch.distributed as dist, sparsejit\n"
        "dist.init_process_group('gloo')\n"
        "torch.manual_seed(dist.get_rank())\n"
        "model = torch.nn.Sequential(sparsejit.SparseLinear(20, 20, sparsity=0.5))\n"
        "try:\n"
        "    sparsejit.check_masks_agree(model)\n"
        "except RuntimeError as error:\n"
        "    open(f'{sys.argv[1]}/rank{dist.get_rank()}', 'w').write(str(error))\n"
        "dist.destroy_process_group()\n"
    )
    run([*TORCHRUN, str(program), str(tmp_path)])
    for rank in ("rank0", "rank1"):
        assert "layer '0': ranks have different masks" in (tmp_path / rank).read_text()


def test_masks_are_ignored_beside_what_the_model_ignores_already():
    model = nn.Sequential(sparsejit.SparseLinear(4, 4, sparsity=0.5), nn.BatchNorm1d(4))
    model._ddp_params_and_buffers_to_ignore = ["1.running_mean"]
    sparsejit.ignore_masks(model)
    assert model._ddp_params_and_buffers_to_ignore == ["0.mask_bits", "1.running_mean"]
