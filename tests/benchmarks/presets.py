"""What the presets of the page Train reach, seed by seed: python -m tests.benchmarks.presets

One process a run, one thread, as in the app. Figures are those of the run's result: 1,000 scenes,
all objects as candidates, unseen ones by which nothing was chosen.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def train(preset: str, *, seed: int, folder: Path, changes: list[str]) -> dict:
    command = [sys.executable, "-m", "binding_core", "train", "--preset", preset, "--json"]
    command += ["--out", str(folder), "--set", f"training.seed={seed}", *changes]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    metrics, result = lines[:-1], lines[-1]["result"]
    every = metrics[0]["step"]
    found = {
        f"{part} {measure}": round(result[part][measure]["value"], 3)
        for part in ("seen", "unseen")
        for measure in ("object_recognition", "swap_accuracy")
    }
    return {
        "seed": seed,
        **found,
        "seconds of training": round(sum(every / line["steps_per_second"] for line in metrics), 1),
        "steps": metrics[-1]["step"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presets", nargs="+", default=["binding appears", "binding does not"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        for preset in options.presets:
            for seed in options.seeds:
                folder = Path(home) / f"{preset} {seed}"
                row = train(preset, seed=seed, folder=folder, changes=options.set)
                print(json.dumps({"preset": preset, **row}), flush=True)


if __name__ == "__main__":
    main()
