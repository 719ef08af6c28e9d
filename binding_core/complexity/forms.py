"""Simple forms that a binding function may have, and how well each predicts new scenes.

- ``additive``: a scene is the mean plus a vector for each concept (arXiv 2605.31503, Level II).
- ``object product``: and, for each object, products of its concepts' vectors.
- ``global product``: and, for the scene, products over its objects of sums of concept vectors.

Products have a rank, see :mod:`binding_core.complexity.product_tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from binding_core.complexity.product_tables import ProductTables, fit_product_tables
from binding_core.errors import UserError
from binding_core.geometry.components import fit_components
from binding_core.geometry.levels import r2
from binding_core.geometry.scene_table import SceneTable

Form = Literal["additive", "object product", "global product"]
Tables = Literal["shared", "by place"]
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
PENALTIES = (0.1, 0.2, 0.4)
PAIR_PENALTY = 0.1  # scenes' worth: how far a pair of concepts in few scenes is held back
INNER_SHARE = 0.3  # of the training objects, by which rank and penalty are chosen
FEWEST_JUDGED = 10  # scenes of those alone, below which nothing can be chosen


@dataclass(frozen=True)
class FittedForm:
    """A form fitted to scenes of some objects."""

    form: Form
    tables: Tables
    rank: int  # 0 for the additive form
    penalty: float
    mean: np.ndarray  # float64 (d,)
    objects: tuple[ProductTables, ...]  # what an object adds: one for all places, or one each
    pairs: ProductTables | None  # what a concept of one object and one of another add together

    def predict(self, table: SceneTable) -> np.ndarray:
        """Scenes -> embeddings (n, d), not of unit length."""
        predicted = np.tile(self.mean, (len(table), 1))
        for place in range(table.places):
            predicted += self.objects[place % len(self.objects)].predict(table.concepts[:, place])
        if self.pairs is not None:
            predicted += _over_pairs(table, self.pairs)
        return predicted


def fit_form(
    table: SceneTable,
    *,
    form: Form,
    tables: Tables = "shared",
    rank: int = 0,
    penalty: float = PENALTIES[0],
    seed: int = 0,
) -> FittedForm:
    """Fit a form to all scenes of the table; UserError when it does not fit their objects.

    The object product is fitted to the objects' components (least squares over the scenes), every
    object alike, and the global product to what pairs of concepts across two objects add: each is
    linear in each of its tables there.
    """
    return prepare(table, form=form, tables=tables).fit(rank=rank, penalty=penalty, seed=seed)


@dataclass(frozen=True)
class _Vectors:
    """What product tables are fitted to."""

    vectors: np.ndarray  # float64 (n, d)
    values: np.ndarray  # int64 (n, C)
    sizes: tuple[int, ...]
    weights: np.ndarray | None = None

    def fit(self, *, rank: int, penalty: float, seed: int) -> ProductTables:
        return fit_product_tables(**vars(self), rank=rank, penalty=penalty, seed=seed)


@dataclass(frozen=True)
class Prepared:
    """What a form of any rank is fitted to, from the scenes of one table."""

    form: Form
    tables: Tables
    mean: np.ndarray
    objects: tuple[_Vectors, ...]
    pairs: _Vectors | None

    def fit(self, *, rank: int, penalty: float, seed: int) -> FittedForm:
        """The form with this many products; of rank 0 each is additive."""
        way = {"penalty": penalty, "seed": seed}
        of_objects = rank if self.form == "object product" else 0
        return FittedForm(
            form=self.form,
            tables=self.tables,
            rank=rank,
            penalty=penalty,
            mean=self.mean,
            objects=tuple(vectors.fit(rank=of_objects, **way) for vectors in self.objects),
            pairs=self.pairs.fit(rank=rank, **way) if self.pairs and rank else None,
        )


def prepare(table: SceneTable, *, form: Form, tables: Tables = "shared") -> Prepared:
    """See :func:`fit_form`: the part of the work that all ranks and penalties share."""
    if form == "global product" and table.places != 2:
        raise UserError("The global product is fitted to scenes of two objects.")
    space = table.space
    estimator = "least squares" if tables == "shared" else "avg+pos"
    components = fit_components(table, level="objects", estimator=estimator)
    values = np.stack(np.unravel_index(np.arange(space.n_objects), space.sizes), axis=-1)
    objects = tuple(
        _Vectors(vectors[known], values[known], space.sizes)
        for vectors, known in zip(components.vectors, components.determined, strict=True)
        if known.any()
    )
    if len(objects) < len(components.vectors):
        raise UserError("These scenes single out no object, so that nothing can be fitted.")
    prepared = Prepared(form, tables, components.mean, objects, None)
    if form != "global product":
        return prepared
    additive = prepared.fit(rank=0, penalty=0, seed=0)
    left = table.embeddings - additive.predict(table)
    return replace(prepared, pairs=_pair_vectors(table, left))


def _pair_vectors(table: SceneTable, left: np.ndarray) -> _Vectors:
    """What a concept of one object and one of the other add together, by ridge regression."""
    from scipy.sparse import csr_array

    size = len(table.space.concepts)
    columns = _pair_columns(table).reshape(len(table), -1)
    rows = np.repeat(np.arange(len(table)), columns.shape[1])
    shape = (len(table), size * size)
    counts = csr_array((np.full(columns.size, 0.5), (rows, columns.ravel())), shape=shape)
    often = counts.sum(axis=0)
    held = np.flatnonzero(often)
    inputs = counts[:, held]
    normal = (inputs.T @ inputs).toarray() + PAIR_PENALTY * np.eye(len(held))
    return _Vectors(
        vectors=np.linalg.solve(normal, inputs.T @ left),
        values=np.stack(np.divmod(held, size), axis=-1),
        sizes=(size, size),
        weights=often[held],
    )


def _pair_columns(table: SceneTable) -> np.ndarray:
    """Every concept of one object with every one of the other, both ways: int64 (n, 2, C, C)."""
    first, second = table.concept_numbers[:, 0], table.concept_numbers[:, 1]
    size = len(table.space.concepts)
    one_way = first[:, :, None] * size + second[:, None, :]
    other_way = second[:, :, None] * size + first[:, None, :]
    return np.stack([one_way, other_way], axis=1)


def _over_pairs(table: SceneTable, pairs: ProductTables) -> np.ndarray:
    size = len(table.space.concepts)
    every = np.stack(np.divmod(np.arange(size * size), size), axis=-1)
    vectors = pairs.predict(every)
    columns = _pair_columns(table).reshape(len(table), -1)
    return 0.5 * np.stack([vectors[column] for column in columns.T]).sum(axis=0)


@dataclass(frozen=True)
class Choice:
    """A rank with the penalty that suits it, chosen inside the training objects."""

    rank: int
    penalty: float
    r2: float  # of scenes with objects that this fit had not seen


def choose(
    table: SceneTable,
    *,
    form: Form,
    tables: Tables = "shared",
    ranks: Sequence[int] = RANKS,
    penalties: Sequence[float] = PENALTIES,
    seed: int = 0,
) -> list[Choice]:
    """For each rank its best penalty, judged on a part of the training objects kept out.

    Empty when the scenes' objects are too few to keep any out with every value still there.
    """
    kept_out = inner_objects(table, seed=seed)
    if kept_out is None:
        return []
    held = kept_out[table.objects]
    # Mixed scenes are neither: of these a fit that knows its own objects by heart explains half.
    fitted, judged = table.rows(~held.any(axis=1)), table.rows(held.all(axis=1))
    if len(judged) < FEWEST_JUDGED:
        return []
    prepared, choices = prepare(fitted, form=form, tables=tables), []
    for rank in ranks:
        tried = []
        for penalty in penalties:
            fit = prepared.fit(rank=rank, penalty=penalty, seed=seed)
            value = r2(judged.embeddings, fit.predict(judged))
            tried.append(Choice(rank, penalty, -np.inf if value is None else value))
        choices.append(max(tried, key=lambda choice: choice.r2))
    return choices


def inner_objects(table: SceneTable, *, seed: int) -> np.ndarray | None:
    """A share of the scenes' objects to judge by, bool (|O|,): the others keep every value twice.

    None when too few can be spared.
    """
    held = np.flatnonzero(table.object_counts.any(axis=0))
    values = np.stack(np.unravel_index(held, table.space.sizes), axis=-1)
    left = [
        np.bincount(column, minlength=s)
        for column, s in zip(values.T, table.space.sizes, strict=True)
    ]
    chosen = np.zeros(table.space.n_objects, dtype=bool)
    wanted = round(INNER_SHARE * len(held))
    for i in np.random.default_rng(seed).permutation(len(held)):
        if chosen.sum() < wanted and all(n[v] > 2 for n, v in zip(left, values[i], strict=True)):
            chosen[held[i]] = True
            for n, v in zip(left, values[i], strict=True):
                n[v] -= 1
    return chosen if chosen.sum() >= 2 else None
