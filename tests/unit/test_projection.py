"""Maps of embeddings: exact where they can be, and honest where they cannot."""

import subprocess
import sys
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binding_core.errors import UserError
from binding_core.geometry import projection, umap_process
from binding_core.geometry.projection import METHODS, nearest, place, project, random_vectors
from binding_core.geometry.umap_process import umap_points


def clusters(n: int = 60, d: int = 16, groups: int = 4, noise: float = 0.2) -> np.ndarray:
    """Unit vectors around a few random directions; row i belongs to group i % groups."""
    rng = np.random.default_rng(1)
    rows = random_vectors(groups, d, seed=2)[np.arange(n) % groups]
    rows = rows + noise * rng.standard_normal((n, d)) / np.sqrt(d)
    return np.float32(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def distances(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


# --- PCA --------------------------------------------------------------------------------------


def test_pca_of_a_plane_keeps_every_distance_and_its_order_of_axes():
    flat = np.array([[0, 0], [6, 0], [0, 2], [6, 2]])  # wider than high
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 2)))[0]
    shown = project(np.float32(flat @ turned.T + 3), method="pca")
    assert distances(shown.points) == pytest.approx(distances(flat), abs=1e-5)
    assert np.ptp(shown.points, axis=0) == pytest.approx([6, 2], abs=1e-5)
    assert shown.points.dtype == np.float32


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 12), st.integers(1, 6), st.sampled_from([2, 3]), st.integers(0, 99))
def test_pca_places_every_embedding_exactly_and_any_size_has_a_map(n, d, k, seed):
    rows = np.float32(np.random.default_rng(seed).standard_normal((n, d)))
    shown = project(rows, method="pca", dimensions=k, seed=seed)
    assert shown.points.shape == (n, k)
    for row, point in zip(rows, shown.points, strict=True):
        placed = place(shown, rows, row)
        assert placed.point == pytest.approx(point, abs=1e-4)
        assert not placed.approximate


def test_pca_is_linear_for_new_embeddings():
    rows = clusters()
    shown = project(rows, method="pca")
    middle = place(shown, rows, (rows[0] + rows[1]) / 2).point
    assert middle == pytest.approx((shown.points[0] + shown.points[1]) / 2, abs=1e-5)


# --- how far to trust it ------------------------------------------------------------------------


def test_a_faithful_map_is_trusted_and_one_of_noise_is_not():
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((32, 3)))[0]
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 200)
    circle = np.float32(np.stack([np.cos(angles), np.sin(angles)], axis=1) @ turned[:, :2].T)
    shown = project(circle, method="pca")
    assert shown.trustworthiness > 0.999
    assert shown.trust_rows == 200
    assert shown.control.points.shape == (200, 2)
    assert 0.4 < shown.control.trustworthiness < 0.75  # 0.5 is a map without any relation


def test_trustworthiness_is_measured_on_a_sample_of_many_rows(monkeypatch):
    monkeypatch.setattr(projection, "TRUST_ROWS", 40)
    assert project(clusters(), method="pca").trust_rows == 40


def test_it_is_not_determined_for_two_rows():
    shown = project(np.eye(2, dtype=np.float32), method="pca")
    assert shown.trustworthiness is None
    assert project(np.eye(3, dtype=np.float32), method="pca").trustworthiness is not None


# --- MDS --------------------------------------------------------------------------------------


def test_mds_shows_cosine_distances_whatever_way_the_space_is_turned():
    rows = clusters()
    shown = project(rows, method="mds", dimensions=3)
    full, drawn = 1 - rows @ rows.T, distances(shown.points)
    assert np.corrcoef(full.ravel(), drawn.ravel())[0, 1] > 0.99
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((16, 16)))[0]
    again = project(np.float32(rows @ turn), method="mds", dimensions=3)
    assert distances(again.points) == pytest.approx(drawn, abs=0.02)


def test_equal_rows_are_one_point_and_seeds_repeat():
    rows = np.concatenate([clusters(30), clusters(30)])
    one, other = (project(rows, method="mds", seed=5) for _ in range(2))
    assert np.array_equal(one.points[:30], one.points[30:])
    assert np.array_equal(one.points, other.points)


def test_a_large_mds_shows_a_part_and_says_so(monkeypatch):
    monkeypatch.setattr(projection, "MDS_ROWS", 20)
    rows = clusters(50)
    shown = project(rows, method="mds", seed=3)
    assert len(shown.rows) == len(shown.points) == len(shown.control.points) == 20
    assert (np.diff(shown.rows) > 0).all()
    assert shown.note == "20 of 50 scenes are shown, drawn with seed 3."
    assert not np.array_equal(shown.rows, project(rows, method="mds", seed=4).rows)
    # A scene that is left out is placed among its own group.
    left_out = int(np.setdiff1d(np.arange(50), shown.rows)[0])
    placed = place(shown, rows, rows[left_out])
    closest = shown.rows[np.linalg.norm(shown.points - placed.point, axis=1).argmin()]
    assert closest % 4 == left_out % 4
    assert placed.approximate


def test_a_shown_embedding_is_placed_on_its_own_point():
    rows = clusters()
    shown = project(rows, method="mds")
    assert place(shown, rows, rows[7]).point == pytest.approx(shown.points[7], abs=1e-3)


# --- what cannot be shown -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["umap", "mds"])
def test_too_few_different_rows_become_pca_and_say_so(method):
    rows = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    shown = project(rows, method=method)
    assert shown.method == shown.control.method == "pca"
    assert shown.note == f"3 different embeddings are too few for {method.upper()}; this is PCA."
    assert len(shown.points) == 12


@pytest.mark.parametrize("method", METHODS)
def test_a_single_embedding_lies_in_the_middle(method):
    shown = project(np.ones((3, 4), dtype=np.float32), method=method, dimensions=3)
    assert np.array_equal(shown.points, np.zeros((3, 3)))


def test_what_is_no_table_of_embeddings_is_refused():
    rows = clusters()
    with pytest.raises(UserError, match="not a projection; choose pca, umap, mds"):
        project(rows, method="tsne")
    with pytest.raises(UserError, match="2 or 3 dimensions, not 4"):
        project(rows, method="pca", dimensions=4)
    with pytest.raises(UserError, match="shows 1 to 10,000 embeddings"):
        project(rows[:0], method="pca")
    rows[4, 2] = np.nan
    with pytest.raises(UserError, match="scene 4 holds a value that is not a number"):
        project(rows, method="umap")


def test_a_umap_without_a_place_for_a_row_becomes_pca(monkeypatch):
    lost = [np.full((60, 2), np.nan, dtype=np.float32)] * 2
    monkeypatch.setattr(projection, "umap_points", lambda tables, **options: lost)
    shown = project(clusters(), method="umap")
    assert (shown.method, shown.note) == (
        "pca",
        "UMAP found no place for some embeddings; this is PCA.",
    )
    assert np.isfinite(shown.points).all()


# --- UMAP's process -------------------------------------------------------------------------------


def test_umap_in_its_process(monkeypatch):
    # Compiling would take half a minute; a few rows need no compiled code.
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    rows = np.concatenate([clusters(12, groups=2), clusters(12, groups=2)[:3]])
    reports = []
    shown = project(rows, method="umap", seed=1, report=lambda *r: reports.append(r))
    assert (shown.method, shown.note) == ("umap", "")
    assert np.array_equal(shown.points[:3], shown.points[12:])
    assert np.isfinite(shown.control.points).all()
    of_group = [np.unique(shown.points[g:12:2], axis=0) for g in range(2)]
    between = np.linalg.norm(of_group[0].mean(axis=0) - of_group[1].mean(axis=0))
    assert between > max(np.linalg.norm(g - g.mean(axis=0), axis=1).max() for g in of_group)
    assert reports[:2] == [(0, 0), (0, 2 * umap_process.EPOCHS)]
    assert reports[-1] == (2 * umap_process.EPOCHS, 2 * umap_process.EPOCHS)
    assert reports == sorted(reports)
    assert place(shown, rows, rows[4]).approximate
    assert "umap" not in sys.modules  # the app's own process never compiles


def test_a_stopped_umap_ends_its_process(monkeypatch):
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[0]
    )
    stop = Event()
    found = project(
        clusters(), method="umap", stop=stop, report=lambda done, of: stop.set() if of else None
    )
    assert found is None
    assert started[0].returncode not in (None, 0)  # it was not left to finish
    assert not umap_process._turn.locked()


def test_the_second_umap_waits_and_can_be_stopped_while_it_does():
    stop, reports, found = Event(), [], []

    def second():
        options = {"dimensions": 2, "seed": 0, "stop": stop}
        found.append(umap_points([clusters()], report=lambda *r: reports.append(r), **options))

    with umap_process._turn:
        thread = Thread(target=second)
        thread.start()
        stop.wait(0.3)
        assert reports == [(0, 0)]
        stop.set()
        thread.join(5)
    assert found == [None]
    assert reports == [(0, 0)]


def test_a_failing_worker_is_reported_and_lets_the_next_one_work(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(UserError, match="UMAP could not be computed: exit status 1"):
        project(clusters(), method="umap")
    assert not umap_process._turn.locked()


def test_the_worker_ends_with_the_app(tmp_path):
    rows, points = tmp_path / "rows.npz", tmp_path / "points.npz"
    np.savez(rows, clusters())
    ended = subprocess.run(
        [sys.executable, "-m", umap_process.__name__, rows, points, "2", "0"],
        stdin=subprocess.DEVNULL,  # at its end from the start, as when the app has gone
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr, points.exists()) == (1, b"", False)


# --- neighbours -----------------------------------------------------------------------------------


def test_nearest_neighbours_come_with_their_similarity_and_ties_in_order():
    rows = np.float32([[1, 0], [0, 1], [0.6, 0.8], [1, 0]])
    positions, similarities = nearest(rows, np.float32([1, 0]), k=3)
    assert positions.tolist() == [0, 3, 2]
    assert similarities == pytest.approx([1, 1, 0.6])
    alike = np.tile(np.eye(2, dtype=np.float32), (100, 1))
    assert nearest(alike, alike[0], k=100)[0].tolist() == list(range(0, 200, 2))
