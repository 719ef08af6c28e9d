"""The list of runs as a table: figures beside settings, and finding some of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from binding_core.training.runs import Run

MAX_OVERLAID = 8  # curves that can still be told apart


def leaderboard(
    runs: Sequence[Run], *, place: Callable[[str], int | None]
) -> list[dict[str, object]]:
    """One row a run; ``place(id)`` is its place in the queue, None when it is not there."""
    return [_row(run, place(run.id)) for run in runs]


def _row(run: Run, place: int | None) -> dict[str, object]:
    config, result = run.config, run.result or {}

    def figure(part: str, measure: str) -> float | None:
        return result[part][measure]["value"] if result else None

    queued = None if place is None else f"number {place} in the queue" if place else "in training"
    return {
        "run": config.name,
        "state": queued or run.state,
        "world": config.world,
        "coverage": config.data.coverage,
        "objects": config.data.n_objects,
        "seed": config.training.seed,
        "steps": config.training.steps,
        "seen": figure("seen", "object_recognition"),
        "unseen": figure("unseen", "object_recognition"),
        "unseen swap": figure("unseen", "swap_accuracy"),
        "begun": run.created,
        "note": run.note,
    }


def matching(
    runs: Sequence[Run],
    *,
    words: str,
    coverage: tuple[float, float],
    worlds: Collection[str],
) -> list[Run]:
    """Runs whose name, folder or note holds every word, of that coverage and those worlds."""
    wanted = words.lower().split()
    lowest, highest = coverage
    found = []
    for run in runs:
        config = run.config
        text = f"{config.name} {run.id} {run.note}".lower()
        if (
            all(word in text for word in wanted)
            and lowest <= config.data.coverage <= highest
            and config.world in worlds
        ):
            found.append(run)
    return found
