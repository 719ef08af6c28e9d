"""Scenes as a row of small pictures with their captions, as HTML."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

from binding_core.captions import caption
from binding_core.figures.verdict import picture_tag
from binding_core.render import render
from binding_core.scenes import Scene

THUMBNAIL = 96  # pixels


def thumbnail_row(
    scenes: Sequence[tuple[Scene, float | None]], *, marked: Collection[int] = ()
) -> str:
    """Each scene with its caption and, where there is one, its similarity; some are framed."""
    figures = []
    for i, (scene, similarity) in enumerate(scenes):
        told = escape(caption(scene))
        number = "" if similarity is None else f" <b>{similarity:.2f}</b>"
        picture = picture_tag(render(scene, size=THUMBNAIL), alt=caption(scene))
        figures.append(
            f'<figure class="near{" wanted" if i in marked else ""}" data-caption="{told}">'
            f"{picture}<figcaption>{told}{number}</figcaption></figure>"
        )
    return f'<div class="nearest">{"".join(figures)}</div>'
