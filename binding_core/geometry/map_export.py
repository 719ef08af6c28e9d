"""A map's points as files, each with what it was computed from."""

from __future__ import annotations

import csv
import io

import numpy as np

from binding_core.captions import caption
from binding_core.geometry.projection import Method
from binding_core.geometry.scene_map import Dimensions, SceneMap
from binding_core.links import encode_scene


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
