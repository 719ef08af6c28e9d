"""Agreement, complexity and the lessons in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from binding_core.alignment.heat_map import bags_of_scenes
from binding_core.captions import caption
from binding_core.lessons import LESSONS

HEAT = '[class*="st-key-heat-"] .js-plotly-plot'
CELL = """
(plot, [row, column]) => {
  const { xaxis, yaxis } = plot._fullLayout;
  const box = plot.getBoundingClientRect();
  return {
    x: box.x + xaxis._offset + xaxis.l2p(column),
    y: box.y + yaxis._offset + yaxis.l2p(row),
  };
}
"""


def ready(page: Page) -> Page:
    expect(page.locator(HEAT)).to_be_visible()
    page.wait_for_function(f"document.querySelector('{HEAT}')?._fullLayout?.xaxis")
    return page


def test_a_cell_of_the_heat_map_is_clicked_and_followed_to_compose(new_page, server, picture):
    page = ready(new_page(f"{server}/agreement"))
    picture(page, "agreement-1280-light")
    at = page.locator(HEAT).evaluate(CELL, [6, 9])
    page.mouse.click(at["x"], at["y"])
    scenes = bags_of_scenes(2)
    expect(page.get_by_text("this one")).to_be_visible()
    expect(page.locator(".near").first).to_have_attribute("data-caption", caption(scenes[6]))
    expect(page.locator(".near").nth(1)).to_have_attribute("data-caption", caption(scenes[9]))
    page.get_by_role("button", name=re.compile("Open the caption")).click()
    expect(page.locator("h1.title")).to_have_text("Compose")
    expect(page.locator(".side-a .caption")).to_have_text(caption(scenes[9]))


def test_a_linear_mending_is_trained_and_told(new_page, server):
    page = ready(new_page(f"{server}/agreement"))
    page.get_by_role("button", name="Train the maps").click()
    expect(page.get_by_text("(contrast, on captions)")).to_be_visible(timeout=90_000)
    expect(page.get_by_text("not reported").first).to_be_visible()


def test_a_complexity_job_is_stopped_and_found_again(new_page, server):
    page = new_page(f"{server}/complexity?approximated=Control%3A+bag")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    if not page.get_by_role("button", name="Fit the structural forms").count():
        page.get_by_role("combobox", name=re.compile("Model")).fill("bag")
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Fit the structural forms").click()
    expect(page.get_by_text("rows so far")).to_be_visible(timeout=90_000)
    page.reload()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Fit the structural forms")).to_be_visible(
        timeout=60_000
    )
    expect(page.get_by_text("All rows", exact=True)).to_be_visible()


def test_the_five_lessons_are_walked_by_their_links(new_page, server, picture):
    page = new_page(f"{server}/start")
    expect(page.get_by_text("Open lesson 5")).to_be_visible()
    picture(page, "start-1280-light")
    page.get_by_role("link", name="Open lesson 1").click()
    for number, lesson in enumerate(LESSONS, start=1):
        expect(page.locator("h1.title")).to_have_text(lesson.page.capitalize())
        banner = page.locator(".lesson")
        expect(banner).to_contain_text(f"Lesson {number} of 5: {lesson.title}")
        banner.locator("summary").click()
        expect(banner).to_contain_text(lesson.answer)
        if number == 2:
            expect(page.locator(".verdict")).to_have_count(2)
            expect(page.locator(".verdict").first).to_contain_text("Bag of concepts")
        if number == 4:
            expect(page.get_by_text("Web captions").first).to_be_visible()
        if number < len(LESSONS):
            page.get_by_role("link", name=re.compile("^Next")).or_(
                page.get_by_role("link", name=re.compile("Next: "))
            ).first.click()
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()


@pytest.mark.parametrize("path", ["agreement", "complexity", "start"])
def test_nothing_scrolls_sideways_at_800_in_the_dark(new_page, server, picture, path):
    page = new_page(f"{server}/{path}", width=800, scheme="dark")
    expect(page.locator(".meaning")).to_be_visible()
    picture(page, f"{path}-800-dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
