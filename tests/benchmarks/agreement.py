"""Agreement tables of the three bundled models, from nothing and from what is kept; mending.

A process whose models are read and whose libraries are imported, as the app's is after its first
page. Ceilings: 10 s for three models' tables of 2,000 scenes, 5 s for one linear map by contrast
on 5,000 scenes in 512 dimensions. What is kept is set against the fresh measurement.
"""

import gc
import json
import time
from collections.abc import Callable

import numpy as np

from binding_core.alignment.mending import fit_map
from binding_core.alignment.report import agreement_of
from binding_core.encoders import BUNDLED_IDS, card, load

SCENES, DIMENSIONS, REPEATS = 5000, 512, 3
TABLES_CEILING, MAP_CEILING = 10.0, 5.0


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, on the clock."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def unit_rows(rng: np.random.Generator) -> np.ndarray:
    """Random directions."""
    rows = rng.standard_normal((SCENES, DIMENSIONS)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def main() -> None:
    encoders = [load(model) for model in BUNDLED_IDS]
    for encoder in encoders:
        encoder.warm_up()
    agreement_of(encoders[0], card=card(encoders[0].id), n_scenes=200, fresh=True)  # imports
    gc.freeze()  # as the app does after its warm-up

    def tables(*, fresh: bool) -> None:
        for encoder in encoders:
            agreement_of(encoder, card=card(encoder.id), fresh=fresh)

    fresh = [seconds(lambda: tables(fresh=True)) for _ in range(REPEATS)]
    kept = [seconds(lambda: tables(fresh=False)) for _ in range(REPEATS)]
    rng = np.random.default_rng(0)
    captions, pictures, swapped = unit_rows(rng), unit_rows(rng), unit_rows(rng)
    maps = {
        method: [
            seconds(
                lambda method=method: fit_map(captions, pictures, swapped=swapped, method=method)
            )
            for _ in range(REPEATS)
        ]
        for method in ("contrast", "ridge", "Procrustes")
    }
    print(
        json.dumps(
            {
                "tables_fresh_seconds": round(float(np.median(fresh)), 2),
                "tables_fresh_slowest": round(max(fresh), 2),
                "tables_ceiling": TABLES_CEILING,
                "tables_kept_seconds": round(float(np.median(kept)), 3),
                "map_seconds": {m: round(float(np.median(s)), 2) for m, s in maps.items()},
                "map_slowest": {m: round(max(s), 2) for m, s in maps.items()},
                "map_ceiling": MAP_CEILING,
                "repeats": REPEATS,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
