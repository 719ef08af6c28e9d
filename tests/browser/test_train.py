"""Training in a real browser: begin, watch, leave and come back, pause, go on."""

import re

from playwright.sync_api import expect

CURVES = "[data-testid=stVegaLiteChart]"  # five of the run, and the phase diagram


def test_a_run_is_started_watched_left_found_again_paused_and_gone_on_with(
    new_page, server, picture
):
    page = new_page(f"{server}/train")
    expect(page.locator("h1.title")).to_have_text("Train")
    page.get_by_text("Optimizer", exact=True).first.click()
    page.get_by_label("Steps", exact=True).fill("4000")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator(CURVES)).to_have_count(6, timeout=90_000)
    expect(page.get_by_text(re.compile(r"Step \d+ of 4000.*steps/s"))).to_be_visible()
    picture(page, "train-1280-light")
    address = page.url
    assert "run=binding-appears" in address

    page.get_by_role("link", name="Compose", exact=True).click()
    expect(page.locator(".verdict")).to_have_count(3)
    page.get_by_role("button", name="Swap colours").click()
    expect(page.locator('.object[data-object="blue square"]')).to_have_count(1)
    page.get_by_role("link", name="Train", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()

    other = new_page(address, width=800, scheme="dark")  # another session, as after a closed tab
    expect(other.get_by_role("button", name="Pause")).to_be_visible()
    expect(other.locator(CURVES)).to_have_count(6)
    sideways = (
        "(m => m.scrollWidth - m.clientWidth)(document.querySelector('[data-testid=stMain]'))"
    )
    assert other.evaluate(sideways) <= 0
    picture(other, "train-800-dark")

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Stands still at step")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Stands still at step")).to_be_visible(timeout=60_000)


def fill(page, label: str, value: str) -> None:
    box = page.get_by_label(label, exact=True)
    box.fill(value)
    box.press("Tab")


def choose(page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option).click()


def test_a_picture_run_is_a_model_on_the_page_compose(new_page, server, picture):
    page = new_page(f"{server}/train?preset=pictures%3A+binding+appears")
    expect(page.get_by_text("A small CLIP learns pictures and captions")).to_be_visible()
    page.get_by_text("Optimizer", exact=True).first.click()
    for label, value in (
        ("Colours", "3"),
        ("Shapes", "3"),
        ("Scenes a step", "8"),
        ("Steps", "20"),
        ("Steps between checkpoints", "10"),
        ("Steps between points of the loss", "5"),
        ("Steps between measures", "10"),
    ):
        fill(page, label, value)
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text("Done after 20 steps")).to_be_visible(timeout=180_000)
    picture(page, "train-pictures-1280-light")
    page.get_by_role("link", name="Compose", exact=True).click()
    expect(page.locator(".verdict")).to_have_count(3)
    page.get_by_role("button", name=re.compile("pictures: binding appears, changed")).click()
    expect(page.locator(".verdict")).to_have_count(4, timeout=60_000)
    expect(page.locator(".verdict", has_text="pictures: binding appears")).to_have_count(1)


def test_a_sweep_of_two_by_two_is_begun_stopped_gone_on_with_and_drawn(new_page, server, picture):
    page = new_page(f"{server}/train")
    page.get_by_text("A sweep of your own").click()
    values = page.get_by_role("textbox", name="Its values")
    values.nth(0).fill("0.4, 0.8")
    values.nth(1).fill("5, 6")
    fill(page, "Steps a run", "300")
    page.get_by_role("button", name="Begin the sweep").click()
    expect(page.get_by_role("button", name="Stop the sweep")).to_be_visible(timeout=30_000)
    expect(page.get_by_text(re.compile(r"[0-4] of 4 runs"))).to_be_visible()
    page.get_by_role("button", name="Stop the sweep").click()
    expect(page.get_by_text("runs, stands still")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Go on with the sweep").click()
    expect(page.get_by_role("button", name="Stop the sweep")).to_be_visible()
    expect(page.get_by_role("button", name="Stop the sweep")).to_have_count(0, timeout=240_000)
    expect(page.get_by_text("Means over runs, 1 seeds a square")).to_be_visible()
    picture(page, "train-sweep-1280-light")
