"""One split of one model's scenes: what approximators fitted on training objects make of new ones.

After arXiv 2605.31503, section 4: an approximator maps a scene's concepts to its embedding, and
linear probes of real embeddings read concepts and objects out of what it predicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from binding_core.agreement.measures import Share
from binding_core.complexity.approximators import Regressor, fit_regressor
from binding_core.complexity.forms import (
    PENALTIES,
    RANKS,
    Form,
    Tables,
    choose,
    fit_form,
)
from binding_core.concepts import split_positions
from binding_core.errors import UserError
from binding_core.geometry.levels import r2, r2_interval
from binding_core.geometry.probes import (
    Probe,
    Target,
    fit_probe,
    probe_recognition,
    split_scenes,
)
from binding_core.geometry.scene_table import SceneTable

PROBE_SHARE = 0.3  # of the distinct scenes, which nothing else is fitted on or tested with
FEW = 30  # test scenes below which a cell is marked
MAX_TESTED = 2000  # held-out scenes; more only take time
AS_GOOD = 0.005  # R²: a rank that gains less is not worth its products

Approximator = Form | Regressor | Literal["real embeddings"]


@dataclass(frozen=True)
class ComplexityRow:
    """One approximator on one split; "real embeddings" are the ceiling that probes allow."""

    approximator: Approximator
    tables: Tables | None  # of a form
    rank: int | None  # of a product, chosen inside the training objects
    penalty: float | None
    coverage: float
    seed: int
    r2_fitted: float | None
    r2_heldout: float | None
    r2_heldout_ci95: tuple[float, float] | None
    objects: Share  # held-out objects that probes recognise in what was predicted
    concepts: Share
    n_fitted: int
    n_heldout: int
    r2_chosen_by: float | None = None  # of objects kept out within the training objects

    @property
    def few(self) -> bool:
        """Whether too few scenes were left to trust the row."""
        return self.n_heldout < FEW


@dataclass(frozen=True)
class Split:
    """The scenes of one coverage and seed: for probes, to fit on, to test on."""

    coverage: float
    seed: int
    probes: dict[Target, Probe]
    fitted: SceneTable
    heldout: SceneTable  # made only of objects that no fitted scene holds

    def judge(
        self,
        predict: Callable[[SceneTable], np.ndarray],
        *,
        approximator: Approximator,
        tables: Tables | None = None,
        rank: int | None = None,
        penalty: float | None = None,
    ) -> ComplexityRow:
        """What is right in an approximator's predictions of the held-out scenes."""
        fitted, heldout = self.fitted, self.heldout
        predicted = predict(heldout)
        rebuilt = replace(heldout, embeddings=predicted.astype(np.float32))
        objects, concepts = (probe_recognition(self.probes[t], rebuilt) for t in get_args(Target))
        return ComplexityRow(
            approximator=approximator,
            tables=tables,
            rank=rank,
            penalty=penalty,
            coverage=self.coverage,
            seed=self.seed,
            r2_fitted=r2(fitted.embeddings, predict(fitted)),
            r2_heldout=r2(heldout.embeddings, predicted),
            r2_heldout_ci95=r2_interval(heldout.embeddings, predicted, seed=self.seed),
            objects=objects,
            concepts=concepts,
            n_fitted=len(fitted),
            n_heldout=len(heldout),
        )


def part_for_probes(table: SceneTable, *, seed: int) -> tuple[dict[Target, Probe], SceneTable]:
    """Probes of all objects and concepts, and the scenes that they were not fitted on."""
    rest, for_probes = split_scenes(table, by="scenes", test_share=PROBE_SHARE, seed=seed)
    judged = table.rows(for_probes)
    return {t: fit_probe(judged, target=t, seed=seed) for t in get_args(Target)}, table.rows(rest)


def split_table(
    probes: dict[Target, Probe], rest: SceneTable, *, coverage: float, seed: int
) -> Split:
    """A value-covering split of the objects; UserError when it leaves nothing to fit or to test."""
    heldout = np.ones(rest.space.n_objects, dtype=bool)
    heldout[split_positions(rest.space.sizes, coverage=coverage, seed=seed)] = False
    fits, tests = split_scenes(rest, by="objects", heldout=np.flatnonzero(heldout))
    if not fits.any() or not tests.any():
        raise UserError(
            f"At coverage {coverage:g} no scene is left to fit on, or none to test with; take more "
            "scenes or another coverage."
        )
    tested = np.flatnonzero(tests)
    tested = np.random.default_rng(seed).permutation(tested)[:MAX_TESTED]
    return Split(coverage, seed, probes, rest.rows(fits), rest.rows(np.sort(tested)))


def additive_row(split: Split) -> ComplexityRow:
    """Concepts alone: products of rank 0."""
    fitted = fit_form(split.fitted, form="additive", seed=split.seed)
    return split.judge(fitted.predict, approximator="additive", tables="shared", rank=0)


def product_rows(
    split: Split,
    *,
    form: Form,
    tables: Tables = "shared",
    ranks: Sequence[int] = RANKS,
    penalties: Sequence[float] = PENALTIES,
) -> tuple[ComplexityRow, ...]:
    """A form at each rank, with the penalty that is best inside the training objects.

    Empty when these are too few to choose by.
    """
    way = {"form": form, "tables": tables, "seed": split.seed}
    rows = []
    for choice in choose(split.fitted, ranks=ranks, penalties=penalties, **way):
        rank = {"rank": choice.rank, "penalty": choice.penalty}
        fitted = fit_form(split.fitted, **way, **rank)
        row = split.judge(fitted.predict, approximator=form, tables=tables, **rank)
        rows.append(replace(row, r2_chosen_by=choice.r2))
    return tuple(rows)


def chosen(rows: Sequence[ComplexityRow]) -> ComplexityRow | None:
    """Of one form's rows the smallest rank that is as good as the best inside training objects."""
    if not rows:
        return None
    enough = max(row.r2_chosen_by for row in rows) - AS_GOOD
    return min((row for row in rows if row.r2_chosen_by >= enough), key=lambda row: row.rank)


def binding_rank(rows: Sequence[ComplexityRow]) -> int | None:
    """The smallest rank whose object recognition is within the interval of the best rank's.

    Of the additive row, rank 0, and those of one product form. At 0 no product helps: the function
    is additive, or no product of these ranks explains it; the recognition itself says which.
    """
    known = [row for row in rows if row.objects.ci95 is not None]
    if not known:
        return None
    low, _ = max(known, key=lambda row: row.objects.value).objects.ci95
    return min(row.rank for row in known if row.objects.value >= low)


def regressor_row(split: Split, *, regressor: Regressor) -> ComplexityRow:
    """A network, forest or boosting that is not told of any structure."""
    fitted = fit_regressor(split.fitted, regressor=regressor, seed=split.seed)
    return split.judge(fitted, approximator=regressor)


def ceiling_row(split: Split) -> ComplexityRow:
    """What the probes read out of the held-out scenes' real embeddings."""
    return split.judge(lambda table: table.embeddings, approximator="real embeddings")
