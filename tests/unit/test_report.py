"""A model taken apart as a whole: tables, files, stopping, and what the app ships."""

from threading import Event

import numpy as np
import pytest

from binding_core.encoders import MODELS, bundled_cards, control_cards, load
from binding_core.encoders.controls import ControlEncoder
from binding_core.encoders.openclip import OpenClipEncoder
from binding_core.errors import UserError
from binding_core.geometry import component_store
from binding_core.geometry.component_store import (
    SHIPPED,
    find_instruments,
    find_report,
    take_model_apart,
)
from binding_core.geometry.report import (
    model_report,
    parse_report,
    report_json,
    table_report,
)
from binding_core.geometry.scene_sets import sampled_scenes
from binding_core.geometry.scene_table import embed_scenes


@pytest.fixture(scope="module")
def product():
    """The report on a control whose objects are products of their concepts' vectors."""
    steps = []
    found = model_report(
        ControlEncoder("product", dimensions=160),
        train_objects=(("red", "square"), ("blue", "circle"), ("green", "star"), ("red", "star")),
        n_scenes=1500,
        report=lambda done, of: steps.append((done, of)),
    )
    return found[0], steps


def test_a_products_scenes_are_sums_of_objects_and_not_of_concepts(product):
    report, _ = product
    for table in report.tables.values():
        rows = {(row.report.level, row.report.estimator): row for row in table.levels}
        assert len(rows) == 8
        objects, concepts = (rows[level, "least squares"] for level in ("objects", "concepts"))
        assert objects.report.r2_heldout > 0.95
        assert objects.objects.value > 0.95
        assert concepts.report.r2_heldout < 0.3
        assert concepts.objects.value < 0.3
        assert table.variance.remainder > 0.7


def test_its_two_sides_bind_alike(product):
    report, _ = product
    assert set(report.remainder) == {"all", "seen", "unseen"}
    rsa = {like.measure: like for like in report.remainder["all"].remainder}["RSA"]
    assert rsa.value > 0.9
    assert rsa.p_value < 0.01


def test_progress_counts_up_to_its_total(product):
    _, steps = product
    assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[-1][0] == steps[-1][1]


def test_the_report_survives_json(product):
    report, _ = product
    assert parse_report(report_json(report)) == report
    with pytest.raises(UserError, match="no report"):
        parse_report(b'{"model": 3}')


def test_it_ends_when_asked(tmp_path):
    stop = Event()
    kept = take_model_apart(
        ControlEncoder("bag"),
        card=control_cards()[0],
        folder=tmp_path,
        report=lambda done, of: stop.set(),
        stop=stop,
    )
    assert kept is None
    assert list(tmp_path.iterdir()) == []


def test_what_was_found_is_kept_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_CACHE_DIR", str(tmp_path))
    encoder, [card] = ControlEncoder("memoriser", dimensions=96), control_cards()[3:]
    report = take_model_apart(encoder, card=card, n_scenes=1500)
    assert find_report(encoder.fingerprint) == report
    assert set(find_instruments(encoder.fingerprint)) == {"image", "text"}
    assert find_report("unknown") is None
    assert find_instruments("unknown") is None
    for path in component_store.kept_folder().iterdir():
        path.write_bytes(b"{}")
    with pytest.warns(UserWarning, match="not used"):
        assert find_report(encoder.fingerprint) is None
    with pytest.warns(UserWarning, match="not used"):
        assert find_instruments(encoder.fingerprint) is None


def test_a_folder_that_can_not_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UserError, match="can't be kept"):
        take_model_apart(
            ControlEncoder("product", dimensions=32),
            card=control_cards()[1],
            folder=tmp_path / "file",
            n_scenes=1500,
        )


def test_few_scenes_are_refused():
    scenes = sampled_scenes(n=12, n_objects=2, seed=0)
    table = embed_scenes(ControlEncoder("bag"), scenes=scenes, modality="image")
    with pytest.raises(UserError, match="12 scenes are too few"):
        table_report(table)


def test_what_is_shipped_is_the_bundled_models():
    fingerprints = {card.id: load(card.id).fingerprint for card in bundled_cards()}
    assert {path.stem for path in SHIPPED.iterdir()} == set(fingerprints.values())
    for model_id, fingerprint in fingerprints.items():
        report = find_report(fingerprint)
        assert report.model == model_id
        assert set(report.twin) == {"image", "text"}
        assert report.tables["image"].n_scenes == 2000
        assert set(report.remainder) == {"all", "seen", "unseen"}
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 2 * 2**20


def test_shipped_components_are_those_of_the_models():
    """A few scenes embedded anew lie in the shipped bank."""
    card = bundled_cards()[2]
    encoder = OpenClipEncoder(MODELS / card.id, model_id=card.id)
    tools = find_instruments(encoder.fingerprint)
    for modality, some in tools.items():
        table = embed_scenes(encoder, scenes=some.bank_scenes[:8], modality=modality)
        assert np.allclose(table.embeddings, some.bank[:8], atol=2e-3)
