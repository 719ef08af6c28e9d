"""Muon in single precision, for processors without fast bfloat16.

``torch.optim.Muon`` orthogonalises in bfloat16, one matrix at a time. A processor without
instructions for that type (most laptops) takes five times as long for a whole training step as it
does with this one, which is the same algorithm: Jordan et al. 2024,
https://kellerjordan.github.io/posts/muon/
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the Newton-Schulz iteration
ITERATIONS = 5
SMALLEST_NORM = 1e-7


class Muon(torch.optim.Optimizer):
    """Momentum whose steps are made orthogonal; matrices of one shape are worked on together."""

    def __init__(self, matrices: Sequence[nn.Parameter], *, lr: float, weight_decay: float) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        """One step along the gradients of all matrices."""
        for group in self.param_groups:
            alike: dict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike[matrix.shape].append(matrix)
            for shape, matrices in alike.items():
                updates = orthogonalised(torch.stack([self._smoothed(m) for m in matrices]))
                rate = group["lr"] * max(1.0, shape[0] / shape[1]) ** 0.5
                for matrix, update in zip(matrices, updates, strict=True):
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    matrix.sub_(update, alpha=rate)

    def _smoothed(self, matrix: nn.Parameter) -> Tensor:
        """The gradient with Nesterov momentum."""
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        momentum = state["momentum_buffer"].lerp_(matrix.grad, 1 - MOMENTUM)
        return matrix.grad.lerp(momentum, MOMENTUM)


def orthogonalised(matrices: Tensor) -> Tensor:
    """Matrices (k, m, n) with all their singular values brought near 1 (between .7 and 1.2)."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=SMALLEST_NORM)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
