"""A measured share with its n, interval and chance level."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict


class Share(BaseModel):
    """How often something held; value and interval are None when there was nothing to compare."""

    model_config = ConfigDict(frozen=True)

    value: float | None  # in [0, 1]
    ci95: tuple[float, float] | None  # Wilson score interval
    n: int  # scenes
    chance: float | None  # what guessing would give

    def __str__(self) -> str:
        if self.value is None or self.ci95 is None:
            return "not available"
        low, high = self.ci95
        return f"{self.value:.2f} [{low:.2f}, {high:.2f}], n = {self.n}, chance {self.chance:.2g}"


def share(held: Sequence[bool], *, chance: float | None) -> Share:
    """The share of true values with its 95 % Wilson interval."""
    from scipy.stats import binomtest  # a second of import that the first page does without

    n, count = len(held), int(sum(held))
    if n == 0:
        return Share(value=None, ci95=None, n=0, chance=None)
    interval = binomtest(count, n).proportion_ci(0.95, method="wilson")
    return Share(
        value=count / n,
        ci95=(float(interval.low), float(interval.high)),
        n=n,
        chance=chance,
    )


def mean_share(shares: Sequence[float], *, chance: float | None) -> Share:
    """The mean of n shares in [0, 1], one a scene.

    Its interval is that of n yes-or-no answers with this mean: too wide rather than too narrow,
    since answers vary most.
    """
    total = float(sum(shares))
    counted = share([i < round(total) for i in range(len(shares))], chance=chance)
    return counted.model_copy(update={"value": total / len(shares)}) if len(shares) else counted
