"""A run over 125,000 objects (50 values of 3 types): memory under 2 GB, time under 10 minutes.

The run is a child process on one thread, as in the app; its peak is what the system says of it.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PRESET = "three concept types"
VALUES = 50
FLOORS = {"peak_gigabytes": 2.0, "seconds": 600}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    changes = [f"data.values={VALUES}", f"training.steps={options.steps}", *options.set]
    command = [sys.executable, "-m", "binding_core", "train", "--preset", PRESET, "--json"]
    metrics, arrived = [], []
    with tempfile.TemporaryDirectory() as home:
        command += ["--out", str(Path(home) / "run"), "--set", *changes]
        start = time.monotonic()
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        ) as child:
            for line in child.stdout:
                metrics.append(json.loads(line))
                arrived.append(time.monotonic() - start)
        seconds = time.monotonic() - start
    if child.returncode:
        sys.exit(child.returncode)
    result = metrics.pop()["result"]
    last = arrived[len(metrics) - 1]
    begun = [0] + [line["step"] for line in metrics]
    training = sum(
        (line["step"] - before) / line["steps_per_second"]
        for before, line in zip(begun, metrics, strict=False)
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    print(
        json.dumps(
            {
                "preset": PRESET,
                "objects": VALUES**3,
                "changes": changes,
                "peak_gigabytes": round(used.ru_maxrss * unit / 1e9, 3),
                "seconds": round(seconds, 1),
                "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
                "of_these": {
                    "training": round(training, 1),
                    "start_and_measuring": round(last - training, 1),
                    "result": round(seconds - last, 1),
                },
                "steps_per_second": round(metrics[-1]["step"] / training, 2),
                "times_measured": sum("measured" in line for line in metrics),
                "unseen_object_recognition": result["unseen"]["object_recognition"]["value"],
                "floors": FLOORS,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
