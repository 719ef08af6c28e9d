"""The controls and the bundled models beside what is measured."""

from __future__ import annotations

from collections.abc import Mapping

from binding_core.complexity.evaluation import ComplexityRow, chosen
from binding_core.complexity.run_points import RunPoint
from binding_core.complexity.sweep import RANK_COVERAGE, find_rows, rank_of
from binding_core.encoders.controls import CONTROL_RULES, ControlEncoder, ControlKind
from binding_core.encoders.protocol import ModelCard
from binding_core.geometry.component_store import find_report

DIMENSIONS = 16  # of the reference controls: as many products as numbers, few enough to be found


def reference_control(kind: ControlKind) -> ControlEncoder:
    """A control whose rank is known: products of 16 numbers are of rank 16."""
    return ControlEncoder(kind, dimensions=DIMENSIONS)


def control_rows() -> dict[ControlKind, list[ComplexityRow]]:
    """The shipped rows of the four reference controls."""
    found = {kind: find_rows(reference_control(kind).fingerprint, "text") for kind in CONTROL_RULES}
    return {kind: rows for kind, rows in found.items() if rows}


def model_point(card: ModelCard, *, fingerprint: str) -> RunPoint | None:
    """Where a picture model stands among the runs, by its picture side; None if not measured.

    Its unseen recognition is its card's, and its likeness that of pictures and captions.
    """
    rows = [r for r in find_rows(fingerprint, "image") if r.coverage == RANK_COVERAGE]
    unseen: Mapping = card.figures.get("unseen, 2 objects", {}).get("object_recognition", {})
    if not rows or unseen.get("value") is None:
        return None
    seed = min(row.seed for row in rows)
    rows = [r for r in rows if r.seed == seed and r.tables in (None, "shared")]
    best = {
        form: chosen([r for r in rows if r.approximator == form])
        for form in ("object product", "global product")
    }
    additive = next((r for r in rows if r.approximator == "additive"), None)
    report = find_report(fingerprint)
    cka = {}
    for part, compared in (report.remainder if report else {}).items():
        cka[part] = next((m for m in compared.remainder or () if m.measure == "CKA"), None)
    seen, new = cka.get("seen"), cka.get("unseen")
    objects, pairs = best["object product"], best["global product"]
    return RunPoint(
        name=card.name,
        settings={},
        seed=seed,
        unseen=unseen["value"],
        additive_r2=additive.r2_heldout if additive else None,
        object_product_r2=objects.r2_heldout if objects else None,
        global_product_r2=pairs.r2_heldout if pairs else None,
        product_objects=objects.objects.value if objects else None,
        rank=rank_of(rows).get(seed),
        likeness_seen=seen.value if seen else None,
        likeness_unseen=new.value if new else None,
        likeness_chance=new.chance if new else None,
    )
