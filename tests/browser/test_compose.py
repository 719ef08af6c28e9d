import csv
import io
import json
import re

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from binding_core.encoders import BUNDLED_IDS
from binding_core.links import decode_scene, encode_scene
from binding_core.presets import DEFAULT_SCENE, PRESETS

CAPTION_A = "a red square and a blue circle"


def ready(page: Page) -> Page:
    expect(page.locator(".verdict[data-model]")).to_have_count(3)
    expect(page.locator(".stage .object")).to_have_count(2)
    expect(page.get_by_role("button", name="Swap colours")).to_be_visible()
    return page


def scene_in_link(page: Page):
    match = re.search(r"[?&]s=([^&]+)", page.url)
    return decode_scene(match[1]) if match else None


def wait_for_scene(page: Page, predicate) -> None:
    for _ in range(100):
        scene = scene_in_link(page)
        if scene and predicate(scene):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"the scene in the link never became so: {scene_in_link(page)}")


def test_the_first_page_shows_the_effect(new_page, server, picture):
    page = ready(new_page(server))
    expect(page.locator("h1.title")).to_have_text("Compose")
    expect(page.locator(".side-a .caption")).to_contain_text("red square")
    findings = [
        page.locator(f".verdict[data-model={m}]").get_attribute("data-finding") for m in BUNDLED_IDS
    ]
    assert findings[0] == "bag"
    assert findings[2] == "binds"
    picture(page, "compose-1280-light")


def test_a_definition_shows_to_the_keyboard_too(new_page, server):
    page = ready(new_page(server))
    term = page.locator("abbr[title]").first
    shown = "e => getComputedStyle(e, '::after').content"
    assert term.evaluate(shown) == "none"
    page.keyboard.press("Tab")  # focus is shown only to who uses the keyboard
    term.focus()
    assert term.get_attribute("title") in term.evaluate(shown)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (800, "light"), (800, "dark")])
def test_it_fits_narrow_and_dark_screens(new_page, server, picture, width, scheme):
    page = ready(new_page(server, width=width, scheme=scheme))
    sideways = "document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(sideways) <= 0
    main = "(m => m.scrollWidth - m.clientWidth)(document.querySelector('[data-testid=stMain]'))"
    assert page.evaluate(main) <= 0
    if width == 800:
        stage = page.locator(".stage").bounding_box()
        verdict = page.locator(".verdict").first.bounding_box()
        assert verdict["y"] > stage["y"] + stage["height"]
    picture(page, f"compose-{width}-{scheme}")


def test_swap_moves_scene_caption_and_verdict_together_and_back(new_page, server):
    page = ready(new_page(server))
    before = page.locator(".side-a .caption").inner_text()
    swapped = page.locator(".side-b .caption").inner_text()
    page.get_by_role("button", name="Swap colours").click()
    expect(page.locator(".side-a .caption")).to_have_text(swapped)
    expect(page.locator(".side-b .caption")).to_have_text(before)
    expect(page.locator('.object[data-object="blue square"]')).to_have_count(1)
    wait_for_scene(page, lambda s: s.object_words == (("blue", "square"), ("red", "circle")))
    page.get_by_role("button", name="Swap colours").click()
    expect(page.locator(".side-a .caption")).to_have_text(before)
    wait_for_scene(page, lambda s: s == DEFAULT_SCENE)
    page.get_by_role("button", name="Swap shapes").click()
    wait_for_scene(page, lambda s: s.object_words == (("red", "circle"), ("blue", "square")))


def test_an_object_is_dragged_and_the_edit_sent_once_on_release(new_page, server):
    page = ready(new_page(server))
    box = page.locator(".stage").bounding_box()
    target = page.locator(".object").nth(0)
    page.mouse.move(box["x"] + 0.30 * box["width"], box["y"] + 0.42 * box["height"])
    page.mouse.down()
    for i in range(1, 9):
        page.mouse.move(
            box["x"] + (0.30 + 0.03 * i) * box["width"],
            box["y"] + (0.42 - 0.02 * i) * box["height"],
        )
    assert scene_in_link(page) in (None, DEFAULT_SCENE)  # nothing is sent while it moves
    page.mouse.up()
    wait_for_scene(page, lambda s: abs(s.objects[0].x - 0.54) < 0.01)
    assert abs(scene_in_link(page).objects[0].y - 0.26) < 0.01
    expect(target).to_have_attribute("aria-label", re.compile("54 % across, 26 % down"))
    page.get_by_role("button", name="Undo").click()
    wait_for_scene(page, lambda s: s == DEFAULT_SCENE)
    page.get_by_role("button", name="Redo").click()
    wait_for_scene(page, lambda s: abs(s.objects[0].x - 0.54) < 0.01)


def test_quick_edits_are_neither_lost_nor_doubled(new_page, server):
    page = ready(new_page(server))
    add = page.get_by_role("button", name="Add", exact=True)
    # No object that is added begins in this colour, so that all four edits change something.
    purple = page.get_by_role("radio", name="purple", exact=True)
    for _ in range(3):
        add.click(no_wait_after=True)
    purple.click()  # means the object that was added last, although it may not be drawn yet
    wait_for_scene(page, lambda s: len(s.objects) == 5 and s.objects[4].colour == "purple")
    expect(page.locator(".stage .object")).to_have_count(5)
    page.wait_for_timeout(700)
    scene = scene_in_link(page)
    assert (len(scene.objects), scene.objects[4].colour) == (5, "purple")
    for _ in range(4):
        page.get_by_role("button", name="Undo").click()
    wait_for_scene(page, lambda s: s == DEFAULT_SCENE)


def test_a_double_click_on_swap_swaps_and_swaps_back(new_page, server):
    page = ready(new_page(server))
    before = page.locator(".side-a .caption").inner_text()
    page.get_by_role("button", name="Swap colours").dblclick(delay=60)
    page.wait_for_timeout(1500)
    expect(page.locator(".side-a .caption")).to_have_text(before)
    page.locator(".object").nth(0).focus()
    expect(page.get_by_role("button", name="Undo")).to_have_attribute("aria-disabled", "false")


def test_everything_can_be_done_from_the_keyboard(new_page, server):
    page = ready(new_page(server))
    page.locator(".object").nth(1).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("+")
    wait_for_scene(
        page,
        lambda s: (s.objects[1].x, s.objects[1].y, s.objects[1].size) == (0.72, 0.55, 0.37),
    )
    page.get_by_role("radio", name="blue", exact=True).focus()
    page.keyboard.press("ArrowRight")
    wait_for_scene(page, lambda s: s.objects[1].colour == "red")
    page.get_by_role("radio", name="circle", exact=True).focus()
    page.keyboard.press("ArrowLeft")
    wait_for_scene(page, lambda s: s.objects[1].shape == "semicircle")
    page.get_by_role("button", name="Duplicate").press("Enter")
    wait_for_scene(page, lambda s: len(s.objects) == 3)
    expect(page.locator(".stage .object")).to_have_count(3)
    page.locator(".object").nth(2).focus()
    page.keyboard.press("Delete")
    wait_for_scene(page, lambda s: len(s.objects) == 2)


def test_a_link_opens_the_view_it_was_copied_from(new_page, server):
    page = ready(new_page(server))
    page.get_by_role("button", name="Add", exact=True).click()
    wait_for_scene(page, lambda s: len(s.objects) == 3)
    page.get_by_role("button", name="Control: memoriser").click()
    expect(page.locator(".verdict[data-model=control-memoriser]")).to_have_count(1)
    page.wait_for_timeout(500)
    other = new_page(page.url)
    expect(other.locator(".stage .object")).to_have_count(3)
    expect(other.locator(".verdict[data-model=control-memoriser]")).to_have_count(1)
    assert scene_in_link(other) == scene_in_link(page)


@pytest.mark.parametrize(
    "query",
    ["s=broken", "s=1~mist~%3Cscript%3Ealert(1)%3C/script%3E.a.1.1.1", "s=" + "x" * 3000],
)
def test_a_broken_link_says_so_and_shows_the_default(new_page, server, query):
    page = ready(new_page(f"{server}/?{query}"))
    expect(page.get_by_text("The default scene is shown instead.")).to_be_visible()
    expect(page.locator(".side-a .caption")).to_contain_text("red square")


def test_own_captions_are_ranked_and_unknown_words_named(new_page, server, picture):
    page = ready(new_page(server))
    page.get_by_text("Your own captions, your own picture").click()
    box = page.get_by_label("Captions, one a line")
    box.fill("a red square and a blue circle\na zebra <b>in</b> space\na star")
    box.press("Control+Enter")
    ranking = page.locator(".verdict.captions[data-model=high-coverage]")
    expect(ranking.locator("li")).to_have_count(3)
    expect(ranking.locator(".unknown")).to_have_text(
        "not in its vocabulary: zebra, <, b, >, in, /, space"
    )
    expect(ranking.locator("li").first).to_contain_text(CAPTION_A)
    picture(page, "compose-own-captions")


def test_an_own_picture_takes_the_scenes_place_and_a_broken_one_is_named(
    new_page, server, tmp_path
):
    page = ready(new_page(server))
    page.get_by_text("Your own captions, your own picture").click()
    path = tmp_path / "mine.png"
    Image.new("RGBA", (300, 200), (255, 0, 0, 128)).save(path)
    page.locator("input[type=file]").first.set_input_files(path)
    expect(page.locator("img.preview")).to_be_visible()
    broken = tmp_path / "broken.png"
    broken.write_bytes(path.read_bytes()[:60])
    page.locator("input[type=file]").first.set_input_files(broken)
    expect(page.get_by_text("damaged or cut short")).to_be_visible()


def test_scene_files_go_out_and_come_in_and_broken_ones_change_nothing(new_page, server, tmp_path):
    page = ready(new_page(server))
    page.get_by_text("Link, export, import").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Scene (JSON)").click()
    exported = json.loads(download.value.path().read_text())
    assert exported["objects"][0]["colour"] == "red"
    with page.expect_download() as download:
        page.get_by_role("button", name="Results (CSV)").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert len(rows) == 3 * 2 * 2 * 2
    assert {r["model"] for r in rows} == set(BUNDLED_IDS)
    with page.expect_download() as download:
        page.get_by_role("button", name="Picture (PNG)").click()
    assert Image.open(download.value.path()).size == (512, 512)

    broken = tmp_path / "broken.json"
    broken.write_text('{"objects": [{"colour": "mauve"}]}')
    page.locator("input[type=file]").first.set_input_files(broken)
    expect(page.get_by_text("The scene on stage is unchanged.")).to_be_visible()
    assert scene_in_link(page) == DEFAULT_SCENE
    good = tmp_path / "good.json"
    good.write_text(PRESETS["Three objects"].model_dump_json())
    page.locator("input[type=file]").first.set_input_files(good)
    expect(page.locator(".stage .object")).to_have_count(3)
    wait_for_scene(page, lambda s: encode_scene(s) == encode_scene(PRESETS["Three objects"]))


def test_two_sessions_do_not_see_each_others_scenes(new_page, server):
    one, two = ready(new_page(server)), ready(new_page(server))
    one.get_by_role("button", name="Add", exact=True).click()
    expect(one.locator(".stage .object")).to_have_count(3)
    two.get_by_role("button", name="Swap colours").click()
    expect(two.locator('.object[data-object="blue square"]')).to_have_count(1)
    expect(two.locator(".stage .object")).to_have_count(2)
    expect(one.locator('.object[data-object="red square"]')).to_have_count(1)


def test_presets_seeds_and_random_scenes(new_page, server):
    page = ready(new_page(server))
    page.get_by_role("combobox", name="Start from").click()
    page.get_by_role("option", name="Twins").click()
    expect(page.locator(".verdict").first).to_have_attribute("data-finding", "same")
    page.get_by_role("button", name="Random scene").click()
    wait_for_scene(page, lambda s: s != PRESETS["Twins"])
    first = scene_in_link(page)
    page.get_by_role("button", name="Random scene").click()
    wait_for_scene(page, lambda s: s != first)
    other = ready(new_page(server))
    other.get_by_role("button", name="Random scene").click()
    wait_for_scene(other, lambda s: s == first)  # the same seed gives the same scene


def test_the_scene_survives_a_visit_to_another_page(new_page, server):
    page = ready(new_page(server))
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".stage .object")).to_have_count(3)
    page.get_by_role("link", name="Models", exact=True).click()
    expect(page.locator("h1.title")).to_have_text("Models")
    page.get_by_role("link", name="Compose", exact=True).click()
    expect(page.locator(".stage .object")).to_have_count(3)
    page.get_by_role("button", name="Add", exact=True).click()  # edits still count
    expect(page.locator(".stage .object")).to_have_count(4)
    wait_for_scene(page, lambda s: len(s.objects) == 4)


def test_a_pair_of_three_objects_is_chosen_by_number_and_swapped(new_page, server):
    page = new_page(f"{server}/?s={encode_scene(PRESETS['Three objects'])}")
    expect(page.locator(".stage .object")).to_have_count(3)
    expect(page.locator(".stage .number").nth(2)).to_have_text("3")
    page.get_by_role("combobox", name="Objects to swap between").click()
    page.get_by_role("option", name="2 ↔ 3").click()
    expect(page.locator(".side-b .caption")).to_contain_text("orange ring")
    swap = page.get_by_role("button", name="Swap colours")
    swap.click()
    wait_for_scene(
        page,
        lambda s: (
            s.object_words == (("yellow", "triangle"), ("orange", "ring"), ("purple", "cross"))
        ),
    )
    page.locator(".object").nth(0).focus()
    forward = page.get_by_role("button", name="Forward")
    forward.click()
    forward.click()
    wait_for_scene(page, lambda s: s.objects[2].words == ("yellow", "triangle"))
    page.get_by_role("link", name="Models", exact=True).click()
    expect(page.locator("h1.title")).to_have_text("Models")
    page.get_by_role("link", name="Compose", exact=True).click()
    expect(page.locator(".stage .object")).to_have_count(3)
    expect(page.locator(".verdict")).to_have_count(3)


def test_the_back_button_goes_back_to_the_scene_before(new_page, server):
    page = ready(new_page(server))
    wait_for_scene(page, lambda s: s == DEFAULT_SCENE)
    page.get_by_role("button", name="Swap colours").click()
    wait_for_scene(page, lambda s: s != DEFAULT_SCENE)
    page.wait_for_timeout(500)
    page.go_back()
    expect(page.locator('.object[data-object="red square"]')).to_have_count(1)
    wait_for_scene(page, lambda s: s == DEFAULT_SCENE)


def test_a_click_without_a_drag_changes_nothing(new_page, server):
    page = ready(new_page(server))
    page.locator(".object").nth(1).click()
    expect(page.locator(".who")).to_have_text("Object 2 of 2: blue circle")
    page.wait_for_timeout(500)
    assert scene_in_link(page) == DEFAULT_SCENE
    expect(page.get_by_role("button", name="Undo")).to_have_attribute("aria-disabled", "true")
