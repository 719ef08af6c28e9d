"""Results as files, each with what it was computed from."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from binding_core.agreement.verdict import Verdict
from binding_core.captions import both_orders, caption
from binding_core.links import encode_scene
from binding_core.render import SCENE_KEY, render
from binding_core.scenes import Scene


def scene_png(scene: Scene, *, size: int) -> bytes:
    """The rendered scene as a PNG file that carries the scene's JSON as a text entry."""
    picture: Image.Image = render(scene, size=size)
    entries = PngInfo()
    entries.add_text(SCENE_KEY, picture.info[SCENE_KEY])
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", pnginfo=entries)
    return buffer.getvalue()


def verdicts_csv(verdicts: Sequence[Verdict], *, scene: Scene, swapped: Scene) -> bytes:
    """One row for every model, picture, caption and word order."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(
        ["model", "fingerprint", "picture", "caption_of", "word_order", "caption", "similarity"]
    )
    names = ("scene", "swapped")
    for verdict in verdicts:
        for i, picture in enumerate((scene, swapped)):
            for j, described in enumerate((scene, swapped)):
                for k, order in enumerate(both_orders(scene)):
                    writer.writerow(
                        [
                            verdict.model,
                            verdict.fingerprint,
                            encode_scene(picture),
                            names[j],
                            k + 1,
                            caption(described, order=order),
                            f"{verdict.similarities[i, j, k]:.6f}",
                        ]
                    )
    return buffer.getvalue().encode()
