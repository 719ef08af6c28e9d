"""The one loss of the picture world: a softmax with soft targets, both ways."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def soft_contrastive(logits: Tensor, truth: Tensor) -> Tensor:
    """Softmax contrast between pictures and captions, with several true captions a picture.

    Picture to caption: a softmax over all captions, whose target is spread evenly over those that
    are true of the picture; caption to picture likewise, over the captions that are true of some
    picture. A true caption competes with the false ones only: were the other true ones in its
    denominator as well, the loss would press all true captions of a picture, "a square" and "a red
    square", to one and the same similarity. Measured on the bundled models' data at coverage .9
    after 200 steps, seen objects: swap accuracy .86 against .83, concept recognition .16 against
    .08, object recognition .015 against .003. With one true caption each this is CLIP's loss.

    ``logits`` float (n, m), ``truth`` bool (n, m) -> scalar.
    """
    return (_one_way(logits, truth) + _one_way(logits.T, truth.T)) / 2


def _one_way(logits: Tensor, truth: Tensor) -> Tensor:
    has_true = truth.any(1)
    logits, truth = logits[has_true], truth[has_true]
    false_mass = logits.masked_fill(truth, -torch.inf).logsumexp(1, keepdim=True)
    # -log softmax of a true entry among itself and the false ones
    surprise = F.softplus(false_mass - logits)
    target = truth / truth.sum(1, keepdim=True)
    return (target * surprise).sum(1).mean()
