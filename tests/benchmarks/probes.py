"""Probes against the published way of fitting them: full-batch Adam on the logistic loss.

One JSON line a fit: recognition in scenes that neither has seen, and processor seconds. The last
line of each target says whether the floors are met: an accuracy not below the interval of Adam's,
and a twentieth of its time. ``--others`` adds scikit-learn's other linear models.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from binding_core.agreement.swap_test import swap_scenes
from binding_core.encoders import load
from binding_core.geometry.probes import (
    Probe,
    Target,
    fit_probe,
    present,
    probe_recognition,
    scene_numbers,
)
from binding_core.geometry.scene_table import SceneTable, embed_scenes

FITTED, TESTED = 2000, 2000
SPEEDUP = 20


def adam_probe(
    table: SceneTable, *, target: Target, epochs: int, rate: float, cosine: bool
) -> Probe:
    """Multi-label logistic regression, all scenes at once, without regularisation."""
    torch.manual_seed(0)
    embeddings = torch.from_numpy(table.embeddings)
    held = torch.from_numpy(present(table, target).astype(np.float32))
    linear = torch.nn.Linear(embeddings.shape[1], held.shape[1])
    optimizer = torch.optim.Adam(linear.parameters(), lr=rate)
    last_rate = 0 if cosine else rate
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs, eta_min=last_rate)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(linear(embeddings), held).backward()
        optimizer.step()
        schedule.step()
    return as_probe(linear.weight.detach().numpy().T, linear.bias.detach().numpy(), table, target)


def other_probe(model: Any, table: SceneTable, target: Target) -> Probe:
    """One of scikit-learn's linear models for each target, on the embeddings as they are."""
    from sklearn.multiclass import OneVsRestClassifier

    fitted = OneVsRestClassifier(model).fit(table.embeddings, present(table, target)).estimators_
    weights = np.stack([np.ravel(one.coef_) for one in fitted], axis=1)
    return as_probe(weights, np.hstack([one.intercept_ for one in fitted]), table, target)


def others() -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
    from sklearn.svm import LinearSVC

    logistic = {f"logistic, C {c}": LogisticRegression(C=c, max_iter=1000) for c in (1, 1e2, 1e4)}
    machines = {f"support vectors, C {c}": LinearSVC(C=c) for c in (1, 30)}
    return {"ridge": RidgeClassifierCV(alphas=np.logspace(-6, 3, 19)), **logistic, **machines}


def as_probe(weights: np.ndarray, bias: np.ndarray, table: SceneTable, target: Target) -> Probe:
    return Probe(target=target, weights=weights, bias=bias, shrinkage=1.0, n_fitted=len(table))


def embedded(model: str, modality: str) -> SceneTable:
    """The scenes' embeddings, kept in the temporary folder between runs."""
    encoder = load(model)
    scenes = list(swap_scenes(n=FITTED + TESTED, seed=0))
    cache = Path(tempfile.gettempdir()) / f"probes-{encoder.fingerprint}-{modality}.npz"
    if not cache.exists():
        made = embed_scenes(encoder, scenes=scenes, modality=modality)
        np.savez(cache, concepts=made.concepts, embeddings=made.embeddings)
    arrays = np.load(cache)
    nothing = embed_scenes(encoder, scenes=[], modality=modality)
    return SceneTable(
        space=nothing.space,
        concepts=arrays["concepts"],
        embeddings=arrays["embeddings"],
        modality=modality,
        source=nothing.source,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="low-coverage")
    parser.add_argument("--modality", choices=("image", "text"), default="text")
    parser.add_argument("--targets", nargs="+", default=["concepts", "objects"])
    parser.add_argument("--epochs", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=1e-2)
    parser.add_argument("--constant-rate", action="store_true", help="instead of a cosine to 0")
    parser.add_argument("--others", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = embedded(options.model, options.modality)
    fitted, rest = table.rows(np.arange(FITTED)), table.rows(np.arange(FITTED, len(table)))
    tested = rest.rows(~np.isin(*scene_numbers(rest, fitted)))  # scenes that are new to all
    fit_probe(table.rows(np.arange(40)), target="concepts")  # imports scikit-learn
    for target in options.targets:

        def timed(name: str, fit: Callable[[], Probe], target: Target = target) -> tuple:
            start = time.process_time()
            probe = fit()
            seconds = time.process_time() - start
            found = probe_recognition(probe, tested)
            line = {
                "model": options.model,
                "modality": options.modality,
                "target": target,
                "fitted": len(fitted),
                "dimensions": fitted.embeddings.shape[1],
                "fit": name,
                "processor_seconds": round(seconds, 2),
                **found.model_dump(),
            }
            print(json.dumps(line), flush=True)
            return found, seconds

        ours, our_seconds = timed("ours", partial(fit_probe, fitted, target=target))
        for name, model in others().items() if options.others else ():
            timed(name, partial(other_probe, model, fitted, target))
        schedule = "constant" if options.constant_rate else "cosine"
        adams, adam_seconds = timed(
            f"Adam, {options.epochs} epochs, rate {options.rate:g}, {schedule}",
            partial(
                adam_probe,
                fitted,
                target=target,
                epochs=options.epochs,
                rate=options.rate,
                cosine=not options.constant_rate,
            ),
        )
        speedup = adam_seconds / our_seconds
        verdict = {
            "target": target,
            "accurate_enough": ours.value >= adams.ci95[0],
            "speedup": round(speedup, 1),
            "fast_enough": speedup >= SPEEDUP,
        }
        print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    main()
