"""The verdict as HTML: two pictures, two captions, and for every model who goes with whom.

Colours come from assets/app.css, so that the blocks follow the theme. Every text is escaped.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

from PIL import Image

from binding_core.agreement.verdict import RankedCaption, Verdict
from binding_core.captions import both_orders, caption
from binding_core.encoders.protocol import ModelCard
from binding_core.render import render
from binding_core.scenes import Scene

THUMBNAIL = 96  # pixels
LISTED_OBJECTS = 5


def picture_tag(picture: Image.Image, *, alt: str, css: str = "thumb") -> str:
    """An <img> that carries the picture itself."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img class="{css}" alt="{escape(alt)}" src="data:image/png;base64,{data}">'


def pair_block(scene: Scene, swapped: Scene) -> str:
    """The scene and its swap, each with its caption in both word orders."""
    parts = []
    for mark, name, s in (("a", "Scene", scene), ("b", "Swapped", swapped)):
        first, second = (caption(s, order=order) for order in both_orders(scene))
        other = f'<div class="other-order">{escape(second)}</div>' if second != first else ""
        parts.append(
            f'<figure class="side side-{mark}">'
            f"{picture_tag(render(s, size=THUMBNAIL), alt=f'{name}: {first}')}"
            f'<figcaption><span class="tag tag-{mark}">{name}</span>'
            f'<div class="caption">{escape(first)}</div>{other}</figcaption></figure>'
        )
    return f'<div class="pair">{"".join(parts)}</div>'


def verdict_block(verdict: Verdict, card: ModelCard, *, scene: Scene) -> str:
    """One model's verdict: sentence, two-by-two table, margin, recognition, ranked objects."""
    good = verdict.finding in ("binds", "barely")
    low, high = sorted(float(m) for m in verdict.margins)
    margin = (
        ""
        if verdict.finding == "same"
        else '<span title="Similarity to its own caption minus similarity to the other one, for '
        'either picture, mean over both word orders">'
        f"margin <b>{_signed(verdict.margin)}</b> <small>({_signed(low)} … {_signed(high)})</small>"
        "</span>"
    )
    return (
        f'<article class="verdict" data-model="{escape(card.id)}" '
        f'data-finding="{escape(verdict.finding)}">'
        f'<header><h4 title="{escape(card.summary)}">{escape(card.name)}</h4>'
        f'<p class="finding {"yes" if good else "no"}">{escape(verdict.sentence)}</p></header>'
        f'<div class="columns"><div>{_table(verdict)}<p class="facts">{margin}'
        f"{_recognised('concepts', verdict.concepts_recognised)}"
        f"{_recognised('objects', verdict.objects_recognised)}{_seen(scene, card)}</p></div>"
        f"{_ranking(verdict)}</div></article>"
    )


def _number(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def _signed(value: float) -> str:
    text = _number(value)
    return text if text.startswith("−") else f"+{text}"


def _table(verdict: Verdict) -> str:
    rows = []
    for i, (name, mark) in enumerate((("Scene", "a"), ("Swapped", "b"))):
        cells = []
        for j in range(2):
            value = verdict.table[i, j]
            wins = verdict.finding != "same" and value > verdict.table[i, 1 - j]
            orders = " / ".join(_number(v) for v in verdict.similarities[i, j])
            state = ("wins right" if i == j else "wins wrong") if wins else "loses"
            best = '<span class="sr">best: </span>' if wins else ""
            cells.append(
                f'<td class="{state}">{best}<b>{_number(value)}</b>'
                f'<small title="in either word order">{orders}</small></td>'
            )
        rows.append(f'<tr><th scope="row" class="tag-{mark}">{name}</th>{"".join(cells)}</tr>')
    return (
        '<table class="twobytwo"><thead><tr><th><span class="unseen-label">picture</span></th>'
        '<th scope="col" class="tag-a">caption</th>'
        '<th scope="col" class="tag-b">swapped caption</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _recognised(what: str, yes: bool) -> str:
    title = (
        f"Yes when every one of the scene's {what} scores strictly above every one that is not "
        "in the scene"
    )
    return f'<span title="{escape(title)}">{what} recognised <b>{"yes" if yes else "no"}</b></span>'


def _seen(scene: Scene, card: ModelCard) -> str:
    if not card.train_objects:
        return ""
    seen = sum(words in card.train_objects for words in scene.object_words)
    return (
        "<span title=\"How many of the scene's objects were among the training objects; the others "
        f'are new combinations">objects seen in training <b>{seen} of {len(scene.objects)}</b>'
        "</span>"
    )


def _ranking(verdict: Verdict) -> str:
    listed = list(enumerate(verdict.ranking, 1))
    shown = listed[:LISTED_OBJECTS]
    # An object of the scene that did not make it into the list stands below it, with its rank.
    shown += [(rank, o) for rank, o in listed[LISTED_OBJECTS:] if o.present]
    top = verdict.ranking[0].similarity
    items = "".join(
        f'<li class="{"present" if o.present else "absent"}"><span class="rank">{rank}</span>'
        f'<span class="what">{escape(" ".join(o.words))}</span>'
        f"{_bar(o.similarity, top)}</li>"
        for rank, o in shown
    )
    return (
        f'<div class="ranking"><p title="Every object of the space as a caption, by similarity to '
        f"the scene's picture\">Top {LISTED_OBJECTS} of {len(listed)} objects</p>"
        f"<ol>{items}</ol></div>"
    )


def _bar(value: float, top: float) -> str:
    share = max(0.0, value / top) if top > 0 else 0.0
    return (
        f'<span class="bar"><i style="width:{share * 100:.0f}%"></i></span>'
        f'<span class="value">{_number(value)}</span>'
    )


def caption_ranking_block(ranked: Sequence[RankedCaption], card: ModelCard) -> str:
    """Captions ranked by one model; what it does not know, or does not read, is said."""
    top = max((r.similarity for r in ranked if r.similarity is not None), default=1.0)
    items = []
    for i, r in enumerate(ranked, 1):
        rank, bar = (str(i), _bar(r.similarity, top)) if r.similarity is not None else ("–", "")
        remarks = "".join(f'<em class="unknown">{escape(text)}</em>' for text in _remarks(r))
        items.append(
            f'<li><span class="rank">{rank}</span>'
            f'<span class="what">{escape(r.text)}{remarks}</span>{bar}</li>'
        )
    return (
        f'<article class="verdict captions" data-model="{escape(card.id)}"><header>'
        f"<h4>{escape(card.name)}</h4></header>"
        f'<div class="ranking"><ol>{"".join(items)}</ol></div></article>'
    )


def _remarks(ranked: RankedCaption) -> list[str]:
    remarks = []
    if not ranked.reading.readable:
        remarks.append("a control reads only captions like “a red square and something blue”")
    if ranked.reading.unknown_words:
        remarks.append(f"not in its vocabulary: {', '.join(ranked.reading.unknown_words)}")
    if ranked.reading.cut_off:
        remarks.append("longer than it reads: the end is left out")
    return remarks
