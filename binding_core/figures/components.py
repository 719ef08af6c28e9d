"""A scene taken apart, and a model's tables, as charts, blocks and rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape

import altair as alt
import numpy as np

from binding_core.agreement.measures import Share
from binding_core.figures.thumbnails import thumbnail_row
from binding_core.geometry.edits import EditReport
from binding_core.geometry.one_scene import Looked, Part
from binding_core.geometry.remainder import RemainderReport
from binding_core.geometry.removal import RemovalRow
from binding_core.geometry.report import LevelRow

ROW = 34  # pixels a bar
PADDING = 22  # pixels that the chart keeps free above and below
ON, OFF = "#3b76af", "#9aa3ab"
SEEN_MARKS = {"seen": "circle", "unseen": "diamond", "all": "square"}
NOT_AVAILABLE = "not available"
# From a third party's notes on the paper: R² avg, avg+pos, retrieval, probing.
PAPER_LEVELS = (
    ("text, CLIP", "0.90", "0.92", "0.97", "0.99"),
    ("PUG:SPARE images, CLIP", "0.75", "0.84", "0.93", "0.98"),
    ("CLEVR images, CLIP", "0.78", "0.83", "0.94", "0.96"),
    ("text, random weights", "0.47", "0.69", "0.42", "0.82"),
)
# Concept / object decoding of text and image, CLIP B/32.
PAPER_REMOVAL = {
    "original": ("1.00 / 1.00", "0.94 / 0.96"),
    "minus concepts": ("0.06 / 0.99", "0.05 / 0.85"),
    "minus objects": ("0.05 / 0.04", "0.02 / 0.01"),
    "wrong concepts": ("0.92 / 0.99", "0.99 / 0.97"),
    "wrong objects": ("0.96 / 1.00", "0.86 / 0.92"),
}


def shares_of_embedding(parts: Sequence[Part], embedding: np.ndarray) -> list[float]:
    """How far each part goes along the embedding, over its length squared: they sum to 1."""
    length = float(embedding @ embedding)
    return [float(part.vector @ embedding) / length for part in parts]


def parts_chart(
    parts: Sequence[Part], embedding: np.ndarray, *, off: Collection[int]
) -> alt.LayerChart:
    """One bar a part, as long as its share of the embedding; what is off is hollow."""
    rows = [
        {
            "part": f"{i}",
            "name": part.name,
            "share": share,
            "end": max(share, 0.0),  # where its number stands
            "length": float(np.linalg.norm(part.vector)),
            "on": i not in off,
        }
        for i, (part, share) in enumerate(
            zip(parts, shares_of_embedding(parts, embedding), strict=True)
        )
    ]
    low = min(0.0, *(row["share"] for row in rows))
    high = max(row["share"] for row in rows)
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("part:O", sort=None, axis=None, scale=alt.Scale(paddingInner=0.3)),
        tooltip=[
            alt.Tooltip("name:N", title="part"),
            alt.Tooltip("share:Q", title="share of the embedding", format=".2f"),
            alt.Tooltip("length:Q", title="length", format=".2f"),
        ],
    )
    bars = base.mark_bar(strokeWidth=1.5).encode(
        x=alt.X(
            "share:Q",
            title=None,
            axis=None,
            scale=alt.Scale(domain=[low, max(high, 1e-6) * 1.25]),
        ),
        fill=alt.condition("datum.on", alt.value(ON), alt.value("transparent")),
        stroke=alt.condition("datum.on", alt.value(ON), alt.value(OFF)),
    )
    numbers = base.mark_text(align="left", dx=5, fontSize=13).encode(
        x=alt.X("end:Q"), text=alt.Text("share:Q", format=".2f"), color=alt.value(OFF)
    )
    return (bars + numbers).properties(height=ROW * len(rows) + PADDING)


def looked_block(looked: Looked) -> str:
    """What is read out of what is left, and the nearest scenes, as HTML."""
    ranks = [
        *(f"{' '.join(words)} {rank}" for words, rank in looked.object_ranks.items()),
        *(f"{value} {rank}" for value, rank in looked.concept_ranks.items()),
    ]
    facts = "".join(
        f'<span title="{escape(title)}">{what} recognised <b>{"yes" if yes else "no"}</b></span>'
        for what, yes, title in (
            ("concepts", looked.concept_recognition, "All above every absent one, by a probe"),
            (
                "objects",
                looked.object_recognition,
                "All above every other object, by a probe",
            ),
        )
    )
    nearest = thumbnail_row(
        [(near.scene, near.similarity) for near in looked.nearest],
        marked={i for i, near in enumerate(looked.nearest) if near.wanted},
    )
    read = ", ".join(" ".join(words) for words in looked.top_objects)
    return (
        f'<article class="looked"><p class="facts">{facts}</p>'
        f'<p class="read">The probe reads: <b>{escape(read)}</b>. '
        f"<small>Ranks of what is looked for: {escape(', '.join(ranks))}.</small></p>"
        f"<h4>Nearest of {looked.n_bank} scenes</h4>{nearest}</article>"
    )


def short(share: Share | None) -> str:
    """A share with its interval, for a table's cell."""
    if share is None or share.value is None or share.ci95 is None:
        return NOT_AVAILABLE
    low, high = share.ci95
    return f"{share.value:.2f} [{low:.2f}, {high:.2f}]"


def level_table(rows: Sequence[LevelRow], twin: Sequence[LevelRow]) -> list[dict[str, str]]:
    """One row an estimator and level, with the randomly initialised twin's figures beside it."""
    beside = {(row.report.level, row.report.estimator): row for row in twin}
    return [
        {
            "level": "I, objects" if row.report.level == "objects" else "II, concepts",
            "estimated by": row.report.estimator,
            "R² held out": _r2(row),
            "scene found": short(row.report.retrieval),
            "objects read": short(row.objects),
            "concepts read": short(row.concepts),
            **(
                {"R², random weights": _r2(other), "found, random weights": short(retrieved)}
                if (other := beside.get((row.report.level, row.report.estimator)))
                and (retrieved := other.report.retrieval)
                else {}
            ),
        }
        for row in rows
    ]


def _r2(row: LevelRow) -> str:
    value, interval = row.report.r2_heldout, row.report.r2_heldout_ci95
    if value is None:
        return "not determined"
    return f"{value:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else f"{value:.2f}"


def paper_level_table() -> list[dict[str, str]]:
    """The paper's figures for Level I."""
    names = ("embeddings", "R² avg", "R² avg+pos", "scene found", "objects read")
    return [dict(zip(names, row, strict=True)) for row in PAPER_LEVELS]


def edit_rows(edits: Mapping[str, EditReport]) -> list[dict[str, str]]:
    """One row a kind of edit."""
    return [
        {
            "edit": name,
            "edits": f"{edit.found.n}",
            "new scene nearest": short(edit.found),
            "… without the old one in the bank": short(edit.found_without_base),
            "new one not in the bank: old one nearest": short(edit.base_without_target),
            "objects read": short(edit.objects),
            "concepts read": short(edit.concepts),
        }
        for name, edit in edits.items()
    ]


def removal_rows(
    rows: Mapping[str, Sequence[RemovalRow]],
) -> list[dict[str, str]]:
    """The five rows; for each modality concepts and objects, and the paper's beside them."""
    found: dict[str, dict[str, str]] = {}
    for modality, removed in rows.items():
        for row in removed:
            line = found.setdefault(row.name, {"what is taken out": row.name})
            line[f"{modality}: concepts"] = short(row.concepts)
            line[f"{modality}: objects"] = short(row.objects)
    for name, line in found.items():
        text, image = PAPER_REMOVAL[name]
        line |= {"paper, image": image, "paper, text": text}
    return list(found.values())


def remainder_rows(reports: Mapping[str, Mapping[str, RemainderReport]]) -> list[dict[str, str]]:
    """Share of variance and likeness of the binding remainder, one row a model and part."""
    rows = []
    for model, parts in reports.items():
        for part, report in parts.items():
            if part == "all" and len(parts) > 1:
                continue
            likeness = {like.measure: like for like in report.remainder or ()}
            rows.append(
                {
                    "model": model,
                    "objects": part,
                    "n": f"{report.n_compared}",
                    "remainder's share, image": _share(report.image.remainder),
                    "… text": _share(report.text.remainder),
                    "… without any structure": _share(report.image.by_counting),
                    **{
                        name: f"{like.value:.2f} (chance {like.chance:.2f}, p = {like.p_value:.3f})"
                        for name, like in likeness.items()
                    },
                }
            )
    return rows


def _share(value: float | None) -> str:
    return "not determined" if value is None else f"{value:.2f}"


def remainder_chart(
    reports: Mapping[str, Mapping[str, RemainderReport]], *, measure: str
) -> alt.LayerChart | None:
    """One mark a model and part on the scale of a measure, over the range that chance gives."""
    rows = [
        {
            "model": model,
            "part": part,
            "value": like.value,
            "low": like.chance95[0],
            "high": like.chance95[1],
            "p": like.p_value,
            "n": like.n,
        }
        for model, parts in reports.items()
        for part, report in parts.items()
        if part != "all" or len(parts) == 1
        for like in report.remainder or ()
        if like.measure == measure
    ]
    if not rows:
        return None
    parts = [part for part in SEEN_MARKS if any(row["part"] == part for row in rows)]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("model:N", title=None, sort=list(reports)),
        yOffset=alt.YOffset("part:N", sort=parts),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("part:N", title="objects"),
            alt.Tooltip("value:Q", title=measure, format=".2f"),
            alt.Tooltip("low:Q", title="chance from", format=".2f"),
            alt.Tooltip("high:Q", title="to", format=".2f"),
            alt.Tooltip("p:Q", format=".3f"),
            alt.Tooltip("n:Q", title="objects compared"),
        ],
    )
    chance = base.mark_bar(opacity=0.3, height=8, color=OFF).encode(
        x=alt.X("low:Q", title=f"{measure}; grey: 95 % of what chance gives"), x2="high:Q"
    )
    marks = base.mark_point(filled=True, size=150, opacity=1).encode(
        x="value:Q",
        shape=alt.Shape(
            "part:N",
            title="objects",
            scale=alt.Scale(domain=parts, range=[SEEN_MARKS[part] for part in parts]),
            legend=alt.Legend(orient="top"),
        ),
        color=alt.value(ON),
    )
    return (chance + marks).properties(height=70 * len(reports) + 60)
