"""Model cards as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from binding_core.agreement.measures import Share
from binding_core.agreement.swap_test import SwapReport
from binding_core.encoders.protocol import ModelCard

COLUMNS = (
    ("swap_accuracy", "swap accuracy", "Its own caption scores strictly above the swapped one"),
    (
        "object_recognition",
        "object recognition",
        "All of the scene's objects rank above all others of 144",
    ),
    (
        "concept_recognition",
        "concept recognition",
        "All of the scene's concepts rank above all others of 24",
    ),
)
"""Field of the report, what it is called, and its one-line definition."""


def card_block(card: ModelCard, *, ranks: Mapping[str, float] | None = None) -> str:
    """What is known of a model: words, facts, and measured figures where there are any.

    ``ranks`` are its binding ranks by side, as in {"pictures": 64}.
    """
    size = f"{card.megabytes:,.1f} MB" if card.megabytes else ""
    parameters = f"{card.parameters / 1e6:.1f} M parameters" if card.parameters else ""
    facts = [card.architecture, parameters, size, f"licence {card.licence}"]
    details = [("Trained on", card.trained_on), ("Pictures", card.preprocessing or "")]
    if card.heldout_objects:
        n_all = len(card.train_objects) + len(card.heldout_objects)
        held = ", ".join(" ".join(words) for words in card.heldout_objects)
        shown = held if len(card.heldout_objects) <= 20 else f"{len(card.heldout_objects)} objects"
        details.append(("Objects seen", f"{len(card.train_objects)} of {n_all}"))
        details.append(("Held out", shown))
    if ranks:
        told = ", ".join(f"{rank:g} ({side})" for side, rank in ranks.items())
        details.append(("Binding rank", told))
    lines = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in details if text
    )
    return (
        f'<article class="model" data-model="{escape(card.id)}"><h3>{escape(card.name)}</h3>'
        f"<p>{escape(card.summary)}</p>"
        f'<p class="facts">{" · ".join(escape(f) for f in facts if f)}</p>'
        f"<dl>{lines}</dl>{_figures(card)}</article>"
    )


def _figures(card: ModelCard) -> str:
    if not card.figures:
        return ""
    head = "".join(
        f'<th scope="col" title="{escape(title)}">{escape(name)}</th>' for _, name, title in COLUMNS
    )
    rows = []
    for split, raw in card.figures.items():
        report = SwapReport.model_validate(raw)
        cells = "".join(_cell(getattr(report, field)) for field, _, _ in COLUMNS)
        rows.append(f'<tr><th scope="row">{escape(split)}</th>{cells}</tr>')
    first = SwapReport.model_validate(next(iter(card.figures.values())))
    return (
        f'<table class="figures"><thead><tr><th>scenes</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
        f'<p class="facts">95 % interval below each value; '
        f"n = {first.object_recognition.n} scenes a row, scene seed {first.seed}, model "
        f"{escape(first.fingerprint)}. Chance is 0.50 for swap accuracy, at most 0.042 for "
        "concepts and 0.007 for objects.</p>"
    )


def _cell(share: Share) -> str:
    if share.value is None or share.ci95 is None:
        return '<td class="none">not available</td>'
    low, high = share.ci95
    chance = f"{share.chance:.2g}" if share.chance is not None else "not known"
    return (
        f'<td title="chance {chance}, n = {share.n}"><b>{share.value:.2f}</b>'
        f"<small>{low:.2f}–{high:.2f}</small></td>"
    )
