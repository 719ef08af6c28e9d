"""Approximators without structure: networks, a forest and boosting, from concepts to embedding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from binding_core.geometry.scene_table import SceneTable

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.neural_network import MLPRegressor

Regressor = Literal["MLP 64", "MLP 256", "MLP 1024", "MLP 4096", "forest", "boosting"]
REGRESSORS: tuple[Regressor, ...] = get_args(Regressor)

LEARNING_RATE = 3e-3
EPOCHS = 60
BATCH = 128
TREES = 50
BOOSTED = 16  # principal directions of the embeddings that boosting predicts, one model each


def one_hot(table: SceneTable) -> np.ndarray:
    """Which concept is where: float32 (n, M · sum of V_k), place after place."""
    n, places, types = table.concepts.shape
    width = len(table.space.concepts)
    columns = table.concept_numbers + width * np.arange(places)[:, None]
    inputs = np.zeros((n, places * width), dtype=np.float32)
    np.put_along_axis(inputs, columns.reshape(n, places * types), 1, axis=1)
    return inputs


def fit_regressor(
    table: SceneTable, *, regressor: Regressor, seed: int
) -> Callable[[SceneTable], np.ndarray]:
    """Fit to all scenes of the table; what comes back maps scenes to embeddings (n, d)."""
    inputs, mean = one_hot(table), table.embeddings.mean(axis=0)
    scale = float((table.embeddings - mean).std()) or 1.0
    targets = (table.embeddings - mean) / scale
    if regressor == "boosting":
        predict = _boosting(inputs, targets, seed=seed)
    elif regressor == "forest":
        predict = _forest(seed).fit(inputs, targets).predict
    else:
        network = _network(regressor, len(table), seed)
        for _ in range(EPOCHS):
            network.partial_fit(inputs, targets)
        predict = network.predict
    return lambda scenes: mean + scale * predict(one_hot(scenes))


def _network(regressor: Regressor, n: int, seed: int) -> MLPRegressor:
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(
        hidden_layer_sizes=(int(regressor.split()[1]),),
        learning_rate_init=LEARNING_RATE,
        batch_size=min(BATCH, n),
        random_state=seed,
    )


def _forest(seed: int) -> RandomForestRegressor:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=TREES, max_features=0.5, random_state=seed)


def _boosting(inputs: np.ndarray, targets: np.ndarray, *, seed: int) -> Callable:
    """Gradient boosting knows one output at a time: it predicts the first principal directions."""
    from sklearn.decomposition import PCA
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.multioutput import MultiOutputRegressor

    pca = PCA(n_components=min(BOOSTED, *targets.shape), random_state=seed).fit(targets)
    model = MultiOutputRegressor(HistGradientBoostingRegressor(random_state=seed))
    model.fit(inputs, pca.transform(targets))
    return lambda asked: pca.inverse_transform(model.predict(asked))
