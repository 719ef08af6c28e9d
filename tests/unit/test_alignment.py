"""Agreement of pictures and captions on encoders whose answers are known by construction."""

import csv
import io
from threading import Event

import numpy as np
import pytest

from binding_core.alignment.agreement_set import agreement_set, embed_set
from binding_core.alignment.heat_map import BAGS, bags_of_scenes, bindings_a_bag
from binding_core.alignment.mending import fit_map, mend, mending_scenes
from binding_core.alignment.report import (
    N_SCENES,
    agreement_json,
    agreement_of,
    agreement_report,
    find_agreement,
)
from binding_core.document import agreement_csv, agreement_html
from binding_core.encoders import bundled_cards, card, load
from binding_core.encoders.controls import ControlEncoder
from binding_core.errors import UserError
from binding_core.figures.agreement import heat_figure, margin_figure, mending_table

SMALL = 200


def report(kind, **changes):
    return agreement_report(ControlEncoder(kind), n_scenes=SMALL, **changes)


@pytest.fixture(scope="module")
def memoriser():
    return report("memoriser")


@pytest.fixture(scope="module")
def bag():
    return report("bag")


def test_a_set_holds_each_scene_and_its_swap_in_every_part():
    known = card("high-coverage").train_objects
    scenes = agreement_set(n=120, n_objects=2, train_objects=known)
    assert len(scenes.scenes) == 120
    assert set(scenes.part) == {"seen", "mixed", "unseen"}
    for i, scene in enumerate(scenes.scenes):
        swapped = scenes.scenes[scenes.swaps[i]]
        assert not scene.same_objects(swapped)
        assert sorted(w[0] for w in scene.object_words) == sorted(
            w[0] for w in swapped.object_words
        )
        held = [words in known for words in scene.object_words]
        assert scenes.part[i] == {2: "seen", 1: "mixed", 0: "unseen"}[sum(held)]
    assert not scenes.rows("all")[60:].any()


def test_without_known_objects_there_is_no_part_but_all(memoriser):
    parts = {row.part: row.accuracy for row in memoriser.swaps if row.n_objects == 2}
    assert parts["all"].n == SMALL * 0.7
    assert parts["seen"].value is None


def test_a_memoriser_agrees_and_a_bag_never_does(memoriser, bag):
    for found, expected in ((memoriser, 1.0), (bag, 0.0)):  # a tie is wrong
        accuracies = {row.accuracy.value for row in found.swaps if row.part == "all"}
        assert accuracies == {expected}
        assert {row.correct.value for row in found.retrieval} == {expected}
        assert {row.swapped_first.value for row in found.retrieval} == {0.0}


def test_recognition_of_controls_across_and_within(memoriser, bag):
    across = next(row for row in memoriser.recognition if row.where == "across")
    assert across.objects.value > 0.95
    across = next(row for row in bag.recognition if row.where == "across")
    assert across.concepts.value > 0.95


def test_no_control_leans_to_word_order_or_size(memoriser):
    leans = {bias.name: bias.share for bias in memoriser.biases}
    for name in ("first-named object nearer", "larger object nearer"):
        low, high = leans[name].ci95
        assert low <= 0.5 <= high
    assert leans["answer turns with word order"].value == 0


def test_the_heat_map_is_a_diagonal_or_full_frames(memoriser, bag):
    for n_objects, n_bags in BAGS.items():
        block = bindings_a_bag(n_objects)
        assert len(bags_of_scenes(n_objects)) == n_bags * block
        of_bag = np.array(bag.heat[n_objects])
        of_memoriser = np.array(memoriser.heat[n_objects])
        for start in range(0, n_bags * block, block):
            frame = slice(start, start + block)
            assert np.ptp(of_bag[frame, frame]) < 1e-3
            inside = of_memoriser[frame, frame]
            assert (np.diag(inside) > inside[~np.eye(block, dtype=bool)].max()).all()


def test_worst_and_best_are_the_ends_of_the_margins(memoriser):
    assert memoriser.worst[0].margin == pytest.approx(min(memoriser.margins), abs=1e-4)
    assert memoriser.best[0].margin == pytest.approx(max(memoriser.margins), abs=1e-4)


def test_too_few_scenes_and_a_stop():
    with pytest.raises(UserError, match="at least 40"):
        agreement_report(ControlEncoder("bag"), n_scenes=10)
    stop = Event()
    stop.set()
    assert agreement_report(ControlEncoder("bag"), n_scenes=SMALL, stop=stop) is None


def test_a_report_is_kept_and_found_by_fingerprint(monkeypatch):
    import binding_core.alignment.report as module

    monkeypatch.setattr(module, "N_SCENES", SMALL)
    encoder, of = ControlEncoder("product"), card("control-product")
    assert find_agreement(encoder.fingerprint) is None
    first = agreement_of(encoder, card=of, n_scenes=SMALL)
    assert agreement_json(find_agreement(encoder.fingerprint)) == agreement_json(first)
    path = module.kept_folder() / f"{encoder.fingerprint}.json"
    path.write_bytes(path.read_bytes()[:100])
    assert find_agreement(encoder.fingerprint) is None


@pytest.mark.parametrize("model", [c.id for c in bundled_cards()])
def test_bundled_reports_are_shipped_and_agree_with_a_fresh_measurement(model):
    encoder, of = load(model), card(model)
    shipped = find_agreement(encoder.fingerprint)
    assert shipped.n_scenes == N_SCENES
    fresh = agreement_report(encoder, train_objects=of.train_objects, n_scenes=SMALL, seed=3)
    for before, now in zip(shipped.swaps, fresh.swaps, strict=True):
        if now.accuracy.ci95 and now.accuracy.n >= 20:
            low, high = now.accuracy.ci95
            assert low - 0.1 <= before.accuracy.value <= high + 0.1


# --- mending --------------------------------------------------------------------------------------


def pairs(n=400, d=24, seed=0):
    """Captions that are pictures turned and shrunk; swapped ones are those of other pictures."""
    rng = np.random.default_rng(seed)
    pictures = rng.standard_normal((n, d)).astype(np.float32)
    pictures /= np.linalg.norm(pictures, axis=1, keepdims=True)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0].astype(np.float32)
    captions = pictures @ turn
    return captions, pictures, np.roll(captions, 1, axis=0), turn


@pytest.mark.parametrize("side", ["captions", "pictures"])
@pytest.mark.parametrize("method", ["contrast", "ridge", "Procrustes"])
def test_a_rotation_between_the_sides_is_undone(method, side):
    captions, pictures, swapped, _ = pairs()
    mapped = fit_map(captions, pictures, swapped=swapped, method=method, side=side)
    told, seen = (
        (captions @ mapped, pictures) if side == "captions" else (captions, pictures @ mapped)
    )
    right, wrong = (seen * told).sum(1), (seen * np.roll(told, 1, axis=0)).sum(1)
    assert (right > wrong).mean() > 0.95
    if method == "Procrustes":
        assert np.allclose(mapped @ mapped.T, np.eye(len(mapped)), atol=1e-4)


def test_no_bag_of_concepts_is_both_trained_and_tested():
    known = card("high-coverage").train_objects
    scenes = mending_scenes(ControlEncoder("bag"), train_objects=known, n=300)
    bags = {part: set() for part in ("trained scenes", "new scenes", "new objects")}
    for scene, part in zip(scenes.embedded.scenes.scenes, scenes.part, strict=True):
        bags[part].add(tuple(tuple(sorted(v)) for v in zip(*scene.object_words, strict=True)))
        held = [words in known for words in scene.object_words]
        assert any(held) != (part == "new objects")
    assert not bags["trained scenes"] & bags["new scenes"]
    assert all(bags.values())


def test_what_is_not_there_cannot_be_mended():
    mendings = mend(ControlEncoder("bag", noise=0.3), n=300, seed=0)
    for mending in mendings:
        new = [row.after for row in mending.rows if row.part != "trained scenes"]
        assert all(share.ci95[0] <= 0.5 for share in new)
    assert "mends the agreement on new scenes of trained objects and" not in mendings[0].sentence
    assert mending_table(mendings)[-1]["new objects"] == "not reported"


def test_mending_stops():
    stop = Event()
    stop.set()
    assert mend(ControlEncoder("bag"), n=100, stop=stop) is None


# --- figures and files ----------------------------------------------------------------------------


def test_a_cell_says_which_picture_and_caption_it_is(memoriser):
    figure = heat_figure(memoriser, n_objects=2)
    cells = [tuple(cell) for cell in figure.data[0].customdata]
    n = len(memoriser.heat[2])
    assert len(set(cells)) == n * n
    at = cells.index((3, 5))
    assert figure.data[0].marker.color[at] == memoriser.heat[2][3][5]


def test_margins_are_shares_of_all_scenes(memoriser, bag):
    figure = margin_figure([memoriser, bag], names={})
    assert [sum(trace.y) for trace in figure.data] == pytest.approx([1, 1])


def test_the_document_stands_alone_and_escapes_names(memoriser):
    content = agreement_html([memoriser], names={memoriser.model: "<script>x"}).decode()
    assert "<script>x" not in content
    assert "&lt;script&gt;x" in content
    assert memoriser.fingerprint in content
    assert 'src="http' not in content


def test_the_csv_has_a_row_for_each_measured_share(memoriser):
    rows = list(csv.DictReader(io.StringIO(agreement_csv([memoriser]).decode())))
    assert {row["measure"] for row in rows} == {
        "swap", "retrieval", "swap first", "objects", "concepts", "bias",
    }  # fmt: skip
    assert all(row["fingerprint"] == memoriser.fingerprint for row in rows)


def test_a_set_is_embedded_with_both_word_orders():
    embedded = embed_set(ControlEncoder("bag"), agreement_set(n=40, n_objects=2))
    assert embedded.captions.shape[:2] == (40, 2)
    assert np.allclose(embedded.margins("colour"), 0, atol=1e-6)
