"""Scenes that differ in their binding alone, bag after bag, for a map of pictures by captions."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np

from binding_core.concepts import BUNDLED_SPACE
from binding_core.scenes import Scene, random_scene

BAGS = {2: 10, 3: 4}  # bags of concepts on the map, by objects a scene
SEED = 0


def bindings_a_bag(n_objects: int) -> int:
    """How many scenes share a bag of different colours and shapes: n!."""
    return len(list(permutations(range(n_objects))))


@lru_cache(maxsize=4)
def bags_of_scenes(n_objects: int) -> tuple[Scene, ...]:
    """All bindings of each bag, one bag after the other; places and shapes stay within a bag."""
    colours, shapes = BUNDLED_SPACE.values
    scenes = []
    for bag in range(BAGS[n_objects]):
        rng = np.random.default_rng([SEED, n_objects, bag])
        drawn = random_scene(space=None, n_objects=n_objects, seed=[SEED, n_objects, bag])
        some_colours = rng.permutation(len(colours))[:n_objects]
        some_shapes = rng.permutation(len(shapes))[:n_objects]
        for order in permutations(range(n_objects)):
            objects = tuple(
                placed.model_copy(
                    update={"colour": colours[some_colours[c]], "shape": shapes[some_shapes[i]]}
                )
                for i, (placed, c) in enumerate(zip(drawn.objects, order, strict=True))
            )
            scenes.append(drawn.model_copy(update={"objects": objects}))
    return tuple(scenes)
