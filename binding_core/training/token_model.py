"""The two encoders of a token run: what reads scenes, and what reads queries.

A query is an object, a concept or a caption in words. Both sides end in unit vectors of one space.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from binding_core.training.settings import TokenNetwork
from binding_core.training.tokens import ABSENT

SHORT = 2  # tokens up to which attention is summed up plainly


class Block(nn.Module):
    """A pre-norm transformer block without masks but for absent words."""

    def __init__(self, network: TokenNetwork) -> None:
        super().__init__()
        # Twice the width is enough here: four times took half as long again and bound no better.
        width, hidden = network.width, 2 * network.width
        self.heads, self.gated = network.heads, network.mlp == "gated"
        self.norm_attention, self.norm_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.up = nn.Linear(width, hidden)
        self.gate = nn.Linear(width, hidden) if self.gated else None
        self.down = nn.Linear(hidden, width)

    def forward(self, x: Tensor, present: Tensor | None) -> Tensor:
        """``x`` (n, L, width), ``present`` bool (n, L) or None for all -> (n, L, width)."""
        n, length, width = x.shape
        qkv = self.qkv(self.norm_attention(x)).view(n, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mask = None if present is None else present[:, None, None, :]
        attended = _attend(q, k, v, mask)
        x = x + self.mix(attended.transpose(1, 2).reshape(n, length, width))
        y = self.norm_mlp(x)
        hidden = self.up(y) * self.gate(y) if self.gated else F.gelu(self.up(y))
        return x + self.down(hidden)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Scaled dot-product attention of (n, heads, L, d).

    For the two tokens of a small scene plain sums take two thirds of the time of torch's kernel.
    """
    if q.shape[2] > SHORT:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = (q[:, :, :, None] * k[:, :, None]).sum(-1) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1)[..., None] * v[:, :, None]).sum(3)


class TokenEncoder(nn.Module):
    """Words, or objects whose words were merged into one token each, to a unit vector."""

    def __init__(
        self, network: TokenNetwork, *, types: int, values: int, slots: int, reads: str
    ) -> None:
        super().__init__()
        width = network.width
        self.values, self.reads = values, reads
        self.word = nn.Parameter(torch.randn(types * values, width))
        # Words of one object share their slot's embedding, and so find each other.
        self.slot = nn.Parameter(torch.randn(slots, width))
        self.concept_type = nn.Parameter(0.3 * torch.randn(types, width))
        self.merge = nn.Linear(width, width) if reads == "objects" else None
        self.blocks = nn.ModuleList(Block(network) for _ in range(network.depth))
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, network.output)

    def forward(self, words: Tensor) -> Tensor:
        """``words`` int64 (n, M, C), word numbers or ABSENT -> unit vectors (n, output)."""
        n, slots, types = words.shape
        given = words != ABSENT
        x = self.word[words.clamp(min=0)] + self.concept_type[words.clamp(min=0) // self.values]
        if self.merge is not None:
            x = F.gelu(self.merge((x * given[..., None]).sum(2))) + self.slot[:slots]
            present = given.any(2)
        else:
            x = (x + self.slot[:slots, None]).reshape(n, slots * types, -1)
            present = given.reshape(n, slots * types)
        everything = bool(present.all())
        for block in self.blocks:
            x = block(x, None if everything else present)
        weight = present.to(x.dtype)[..., None]
        mean = (self.norm(x) * weight).sum(1) / weight.sum(1)
        return F.normalize(self.project(mean), dim=-1)


class TokenModel(nn.Module):
    """A scene encoder, a query encoder, and the temperature between them."""

    def __init__(
        self, network: TokenNetwork, *, types: int, values: int, objects: int, seed: int
    ) -> None:
        super().__init__()
        self.network, self.types, self.values = network, types, values
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            sizes = {"types": types, "values": values, "slots": objects}
            one = network.sharing == "shared"
            reads = "words" if network.sharing != "apart" else network.scene_reads
            self.scene = TokenEncoder(network, **sizes, reads=reads)
            self.query = None if one else TokenEncoder(network, **sizes, reads="words")
        self.log_scale = nn.Parameter(torch.tensor(2.3))  # ln 10

    def is_one(self, step: int) -> bool:
        """Whether scenes and queries are read by the same weights at this step."""
        return self.network.sharing == "shared" or (
            self.network.sharing == "part" and step < self.network.part_after
        )

    @torch.no_grad()
    def part(self) -> None:
        """Give the query side its own copy of the scene side's weights."""
        self.query.load_state_dict(self.scene.state_dict())

    def scenes(self, concepts: Tensor) -> Tensor:
        """Value numbers (n, M, C) -> embeddings (n, output)."""
        return self.scene(self.words(concepts))

    def queries(self, concepts: Tensor, *, step: int) -> Tensor:
        """Value numbers (n, m, C), ABSENT where a word is left out -> embeddings (n, output)."""
        encoder = self.scene if self.is_one(step) else self.query
        return encoder(self.words(concepts))

    def words(self, concepts: Tensor) -> Tensor:
        """Value numbers (..., C) to word numbers, V for each type one after the other."""
        first = torch.arange(self.types) * self.values
        return torch.where(concepts == ABSENT, ABSENT, concepts + first)

    def hidden_matrices(self) -> list[nn.Parameter]:
        """The matrices inside the blocks: what Muon is meant for."""
        return [p for name, p in self.named_parameters() if ".blocks." in name and p.ndim == 2]
