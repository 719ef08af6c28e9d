import pytest

from binding_core.editing import Edit, SceneHistory, apply_edit, follow
from binding_core.errors import UserError
from binding_core.presets import DEFAULT_SCENE
from binding_core.scenes import MAX_OBJECTS, random_scene


def test_change_touches_only_what_it_names():
    after = apply_edit(DEFAULT_SCENE, Edit(op="change", index=1, x=0.1234, colour="green"))
    assert after.objects[0] == DEFAULT_SCENE.objects[0]
    assert after.objects[1].words == ("green", "circle")
    assert after.objects[1].x == 0.123
    assert after.objects[1].y == DEFAULT_SCENE.objects[1].y


@pytest.mark.parametrize(
    "edit",
    [
        Edit(op="change", index=0, x=1.4),
        Edit(op="change", index=0, x=float("nan")),
        Edit(op="change", index=0, colour="mauve"),
        Edit(op="change", index=0, size=0.9),
        Edit(op="change", index=5, x=0.5),
        Edit(op="delete", index=4),
    ],
)
def test_impossible_edits_are_refused(edit):
    with pytest.raises(UserError):
        apply_edit(DEFAULT_SCENE, edit)


def test_adding_stops_at_six_and_deleting_at_one():
    scene = DEFAULT_SCENE
    while len(scene.objects) < MAX_OBJECTS:
        scene = apply_edit(scene, Edit(op="add"))
        new = scene.objects[-1]
        assert new.colour not in {o.colour for o in scene.objects[:-1]}
        assert new.shape not in {o.shape for o in scene.objects[:-1]}
    for op in ("add", "duplicate"):
        with pytest.raises(UserError, match="at most 6"):
            apply_edit(scene, Edit(op=op))
    while len(scene.objects) > 1:
        scene = apply_edit(scene, Edit(op="delete", index=0))
    with pytest.raises(UserError, match="last one stays"):
        apply_edit(scene, Edit(op="delete", index=0))


def test_duplicate_lies_beside_its_original_on_the_canvas():
    for seed in range(50):
        scene = random_scene(space=None, n_objects=2, seed=seed)
        copy = apply_edit(scene, Edit(op="duplicate", index=1)).objects[-1]
        original = scene.objects[1]
        assert copy.words == original.words
        assert abs(copy.x - original.x) == pytest.approx(0.08, abs=2e-3)


def test_forward_moves_one_layer_up():
    scene = random_scene(space=None, n_objects=3, seed=0)
    a, b, c = scene.objects
    assert apply_edit(scene, Edit(op="forward", index=0)).objects == (b, a, c)
    assert apply_edit(scene, Edit(op="forward", index=2)).objects == (a, b, c)


def test_undo_and_redo_walk_the_same_way_back_and_forth():
    history = SceneHistory(DEFAULT_SCENE)
    for op in ("add", "forward", "delete"):
        history = history.edited(Edit(op=op))
    last = history
    for _ in range(3):
        history = history.edited(Edit(op="undo"))
    assert history.scene == DEFAULT_SCENE
    assert history.undo() == history
    for _ in range(3):
        history = history.edited(Edit(op="redo"))
    assert history == last
    assert history.redo() == history
    assert history.undo().edited(Edit(op="add")).future == ()  # a new edit forgets what was undone


def test_a_refused_edit_loses_nothing():
    history = SceneHistory(DEFAULT_SCENE).edited(Edit(op="add"))
    with pytest.raises(UserError):
        history.edited(Edit(op="change", index=0, x=7.0))
    assert history.scene.objects[:2] == DEFAULT_SCENE.objects


@pytest.mark.parametrize("op", ["forward", "delete", "add", "change"])
def test_the_pair_stays_with_its_objects(op):
    scene = random_scene(space=None, n_objects=4, seed=3)
    for index in range(4):
        edit = Edit(op=op, index=index)
        after = apply_edit(scene, edit)
        for pair in ((0, 1), (1, 3), (2, 3)):
            found = follow(pair, edit, n_objects=4)
            if op == "delete" and index in pair:
                assert found == (0, 1)
            else:
                assert [after.objects[i] for i in found] == [scene.objects[i] for i in pair]
