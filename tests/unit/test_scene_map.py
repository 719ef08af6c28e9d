"""Maps of scenes: drawn, kept, found again; views with a name; what the app ships."""

import csv
import io
import warnings
from threading import Event

import numpy as np
import pytest
from pydantic import ValidationError

from binding_core.concepts import BUNDLED_SPACE
from binding_core.encoders import bundled_cards, load
from binding_core.encoders.controls import ControlEncoder
from binding_core.errors import UserError
from binding_core.geometry import map_views
from binding_core.geometry.map_export import map_csv, map_npz
from binding_core.geometry.map_views import delete_view, keep_view, list_views
from binding_core.geometry.quadruple_store import DEFAULT, draw_quadruple, find_quadruple
from binding_core.geometry.scene_map import (
    SHIPPED,
    SceneSet,
    draw_map,
    find_map,
    kept_folder,
    map_key,
)
from binding_core.links import decode_scene

PAIRS = {"colours": DEFAULT[0], "shapes": DEFAULT[1]}


@pytest.fixture
def both():
    """Pictures and captions of ten scenes, three draws each, by PCA."""
    settings = SceneSet(sides="both", draws=3)
    return draw_map(ControlEncoder("product"), settings=settings, method="pca", dimensions=2)


def test_the_default_slice_holds_one_scene_and_its_swap(both):
    assert len(both) == 2 * 30
    assert both.forms == ["image"] * 30 + ["text"] * 30
    bags = both.labels("bag")
    for a, b in both.swaps():
        assert bags[a] == bags[b]
        assert both.forms[a] == both.forms[b]
        assert not both.scene(a).same_objects(both.scene(b))
    assert len(both.swaps()) == 2 * 3
    assert both.captions() == [(i, 30 + i) for i in range(30)]
    assert both.gap().n == 30


def test_labels_say_what_they_are_asked(both):
    objects = both.labels("object")
    assert objects == [
        f"{colour} {shape}"
        for colour, shape in zip(both.labels("colour"), both.labels("shape"), strict=True)
    ]
    assert set(both.labels("seen")) == {"not known"}
    every = tuple(BUNDLED_SPACE.objects)
    assert set(both.labels("seen", train_objects=every)) == {"seen"}
    assert both.labels("modality") == both.forms


def test_a_map_is_found_again_with_all_its_projections(both):
    encoder, settings = ControlEncoder("product"), both.settings
    more = draw_map(encoder, settings=settings, method="mds", dimensions=3)
    found = find_map(settings, encoder.fingerprint)
    assert set(found.projections) == {("pca", 2), ("mds", 3)} == set(more.projections)
    for key, shown in more.projections.items():
        kept = found.projections[key]
        assert np.array_equal(kept.points, shown.points)
        assert kept.trustworthiness == shown.trustworthiness
        assert kept.control.trustworthiness == shown.control.trustworthiness
    assert np.allclose(found.embeddings, both.embeddings, atol=1e-3)
    assert np.allclose(np.linalg.norm(found.embeddings, axis=1), 1, atol=1e-6)
    assert find_map(SceneSet(sides="text", draws=3), encoder.fingerprint) is None
    assert find_map(settings, "another model") is None


def test_a_damaged_map_is_drawn_again(both):
    path = kept_folder() / f"{map_key(both.settings, both.fingerprint)}.npz"
    whole = path.read_bytes()
    for broken in (whole[:500], b"", b"no file"):
        path.write_bytes(broken)
        with pytest.warns(UserWarning, match="is not used"):
            assert find_map(both.settings, both.fingerprint) is None
    with pytest.warns(UserWarning, match="is not used"):
        again = draw_map(
            ControlEncoder("product"), settings=both.settings, method="pca", dimensions=2
        )
    assert np.array_equal(again.projections["pca", 2].points, both.projections["pca", 2].points)


def test_it_stops_when_asked():
    stop = Event()
    stop.set()
    settings = SceneSet(drawn="sample", n=50)
    way = {"method": "pca", "dimensions": 2}
    assert draw_map(ControlEncoder("bag"), settings=settings, stop=stop, **way) is None
    assert not kept_folder().exists()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"colours": ()}, "choose one or more"),
        ({"colours": ("red", "mauve")}, "mauve"),
        ({"sides": "both", "drawn": "sample", "n": 6000}, "more than 10,000 points"),
        ({"draws": 200, "colours": BUNDLED_SPACE.values[0][:6]}, "15,600 scenes"),
    ],
)
def test_sets_that_can_not_be_are_refused(settings, reason):
    with pytest.raises(UserError, match=reason):
        SceneSet(**settings).scenes()


def test_settings_out_of_bounds_are_refused():
    for settings in ({"n_objects": 4}, {"n": 10**6}, {"sides": "smell"}, {"other": 1}):
        with pytest.raises(ValidationError):
            SceneSet(**settings)


def test_points_and_embeddings_as_files(both):
    rows = list(csv.DictReader(io.StringIO(map_csv(both, method="pca", dimensions=2).decode())))
    assert len(rows) == 60
    assert rows[31]["side"] == "text"
    assert decode_scene(rows[31]["scene"]).same_objects(both.scenes[1])
    assert float(rows[3]["x"]) == pytest.approx(both.projections["pca", 2].points[3, 0], rel=1e-4)
    with np.load(io.BytesIO(map_npz(both, method="pca", dimensions=2))) as archive:
        assert archive["embeddings"].shape == both.embeddings.shape
        assert archive["concepts"].shape == (60, 2, 2)
        assert archive["points"].shape == (60, 2)


def test_views_are_kept_under_their_names():
    assert list_views() == []
    keep_view(" first ", {"mapped": "web-captions"})
    keep_view("second", {"map_method": "pca"})
    keep_view("first", {"mapped": "low-coverage"})
    assert [(v.name, v.parameters) for v in list_views()] == [
        ("second", {"map_method": "pca"}),
        ("first", {"mapped": "low-coverage"}),
    ]
    delete_view("second")
    assert [v.name for v in list_views()] == ["first"]
    for name in ("", "  ", "x" * 81):
        with pytest.raises(UserError, match="needs a name"):
            keep_view(name, {})
    path = map_views.data_folder() / map_views.FILE_NAME
    path.write_text("[3]")
    with pytest.raises(UserError, match="damaged"):
        keep_view("third", {})
    assert path.read_text() == "[3]"


def test_a_quadruple_is_kept():
    encoder = ControlEncoder("memoriser")
    found = draw_quadruple(encoder, modality="text", **PAIRS)
    assert find_quadruple(encoder.fingerprint, modality="text", **PAIRS) == found
    assert find_quadruple(encoder.fingerprint, modality="image", **PAIRS) is None
    [path] = kept_folder().glob("quadruple-*")
    path.write_text("{}")
    with pytest.warns(UserWarning, match="damaged"):
        assert find_quadruple(encoder.fingerprint, modality="text", **PAIRS) is None


def test_the_bundled_models_default_maps_are_shipped():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for card in bundled_cards():
            fingerprint = load(card.id).fingerprint
            for sides in ("image", "text", "both"):
                found = find_map(SceneSet(sides=sides), fingerprint)
                ways = {(m, d) for m in ("pca", "umap", "mds") for d in (2, 3)}
                assert set(found.projections) == ways
                assert all(p.control is not None for p in found.projections.values())
            for modality in ("image", "text"):
                assert find_quadruple(fingerprint, modality=modality, **PAIRS)
    files = list(SHIPPED.iterdir())
    assert len(files) == 3 * (3 + 2)
    assert sum(path.stat().st_size for path in files) < 2 * 2**20
