"""Pictures a second of the batch path at 64 pixels, on one core: floor 2,000."""

import json
import time

import numpy as np

from binding_core.render import render, render_batch
from binding_core.scenes import random_scene

SIZE = 64
SCENES = 4000


def main() -> None:
    scenes = [random_scene(space=None, n_objects=1 + i % 3, seed=i) for i in range(SCENES)]
    rates = []
    for _ in range(5):
        start = time.process_time()
        batch = render_batch(scenes, size=SIZE)
        rates.append(SCENES / (time.process_time() - start))
    same = all(
        np.array_equal(batch[i], np.asarray(render(scenes[i], size=SIZE)))
        for i in range(0, SCENES, 40)
    )
    print(
        json.dumps(
            {
                "pictures_per_second_per_core": round(float(np.median(rates))),
                "floor": 2000,
                "identical_to_single_path": same,
                "repeats": len(rates),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
