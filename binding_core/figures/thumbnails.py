"""Scenes as a row of small pictures with their captions, as HTML."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
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
        figures.append(
            f'<figure class="near{" wanted" if i in marked else ""}" data-caption="{told}">'
            f"{_picture(scene)}<figcaption>{told}{number}</figcaption></figure>"
        )
    return f'<div class="nearest">{"".join(figures)}</div>'


@lru_cache(maxsize=2000)
def _picture(scene: Scene) -> str:
    # The same neighbours come again and again, and a page waits for them at every click.
    return picture_tag(render(scene, size=THUMBNAIL), alt=caption(scene))
