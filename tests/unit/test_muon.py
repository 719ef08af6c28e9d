"""The optimizer's steps are those of torch's own Muon, up to its half precision."""

import pytest
import torch
from torch import nn

from binding_core.training.muon import Muon, orthogonalised


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 24, 8), (3, 8, 24)])
def test_singular_values_come_near_one(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalised(matrices))
    assert ((values > 0.6) & (values < 1.3)).all()


def test_a_matrix_of_zeros_stays():
    assert not orthogonalised(torch.zeros(1, 4, 4)).any()


def test_matrices_of_one_shape_do_not_mix():
    matrices = torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(1))
    alone = torch.cat([orthogonalised(m[None]) for m in matrices])
    torch.testing.assert_close(orthogonalised(matrices), alone)


def test_ten_steps_are_those_of_torch():
    random = torch.Generator().manual_seed(2)
    shapes = [(8, 8), (24, 8), (8, 24), (8, 8)]
    start = [torch.randn(shape, generator=random) for shape in shapes]
    ours, theirs = ([nn.Parameter(m.clone()) for m in start] for _ in range(2))
    optimizers = (
        Muon(ours, lr=0.02, weight_decay=0.1),
        torch.optim.Muon(theirs, lr=0.02, weight_decay=0.1),
    )
    for _ in range(10):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn(mine.shape, generator=random)
            other.grad = mine.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for mine, other, was in zip(ours, theirs, start, strict=True):
        moved = (other - was).norm()
        assert (mine - other).norm() < 0.02 * moved  # bfloat16 has three digits


def test_what_has_no_gradient_does_not_move():
    matrix = nn.Parameter(torch.ones(2, 2))
    Muon([matrix], lr=0.1, weight_decay=0.1).step()
    assert (matrix == 1).all()
