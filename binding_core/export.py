"""Results as files, each with what it was computed from."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from binding_core.agreement.verdict import Verdict
from binding_core.captions import both_orders, caption
from binding_core.geometry.projection import Method
from binding_core.geometry.scene_map import Dimensions, SceneMap
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


def map_csv(drawn: SceneMap, *, method: Method, dimensions: Dimensions) -> bytes:
    """One row a point: where it lies, its scene and caption, and what it was computed from."""
    shown = drawn.projections[method, dimensions]
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    axes = "xyz"[:dimensions]
    header = ["point", "side", *axes, "caption", "scene", "method", "seed", "fingerprint"]
    writer.writerow(header)
    forms = drawn.forms
    for row, point in zip(shown.rows.tolist(), shown.points, strict=True):
        scene = drawn.scene(row)
        where = [f"{value:.6g}" for value in point]
        told = [caption(scene), encode_scene(scene), shown.method, shown.seed, drawn.fingerprint]
        writer.writerow([row, forms[row], *where, *told])
    return buffer.getvalue().encode()


def map_npz(drawn: SceneMap, *, method: Method, dimensions: Dimensions) -> bytes:
    """Embeddings, value numbers of the objects, and the points of one projection."""
    shown = drawn.projections[method, dimensions]
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        embeddings=drawn.embeddings,
        concepts=np.concatenate([table.concepts for table in drawn.tables]),
        points=shown.points,
        rows=shown.rows,
        side=np.array(drawn.forms),
        fingerprint=np.array(drawn.fingerprint),
    )
    return buffer.getvalue()
