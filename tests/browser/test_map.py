"""The map in a real browser: choose, open, come back."""

import re

import pytest
from playwright.sync_api import Page, expect

PLOT = ".st-key-map_chart .js-plotly-plot"
# Where the nth point of the map lies on the screen, and its scene.
POINT = """
(plot, n) => {
  const points = plot._fullData.flatMap((trace) => (trace.customdata ? Array.from(trace.x).map(
    (x, i) => ({ x, y: trace.y[i], id: trace.customdata[i][0] })) : []));
  const { xaxis, yaxis } = plot._fullLayout;
  const box = plot.getBoundingClientRect();
  const p = points[n];
  return {
    id: p.id,
    x: box.x + xaxis._offset + xaxis.l2p(p.x),
    y: box.y + yaxis._offset + yaxis.l2p(p.y),
  };
}
"""


def ready(page: Page) -> Page:
    expect(page.locator(PLOT)).to_be_visible()
    expect(page.get_by_text(re.compile("Trustworthiness"))).to_be_visible()
    page.wait_for_function(f"document.querySelector('{PLOT}')?._fullLayout?.xaxis")
    return page


def point(page: Page, n: int) -> dict:
    return page.locator(PLOT).evaluate(POINT, n)


def test_a_point_is_chosen_and_opened_in_compose(new_page, server, picture):
    page = ready(new_page(f"{server}/map"))
    picture(page, "map-1280-light")
    at = point(page, 40)
    page.mouse.click(at["x"], at["y"])
    expect(page.get_by_text("1 chosen")).to_be_visible()
    told = page.locator(".near").first.get_attribute("data-caption")
    expect(page.locator(".near")).to_have_count(1 + 4)
    page.get_by_role("button", name="Open in Compose").click()
    expect(page.locator("h1.title")).to_have_text("Compose")
    expect(page.locator(".side-a .caption")).to_be_visible()
    words = set(told.replace(" and ", " ").replace("a ", "").split())
    shown = set(page.locator(".side-a .caption").inner_text().replace(" and ", " ").split())
    assert words - {"a", "an"} == shown - {"a", "an"}


@pytest.mark.parametrize("tool", ["Box Select", "Lasso Select"])
def test_box_and_lasso_choose_many(new_page, server, tool):
    page = ready(new_page(f"{server}/map"))
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    left, right = box["x"] + 5, box["x"] + box["width"] - 5
    top, bottom = box["y"] + 5, box["y"] + box["height"] - 5
    page.locator(PLOT).hover()
    page.locator(f"{PLOT} .modebar-btn[data-title='{tool}']").click()
    page.mouse.move(left, top)
    page.mouse.down()
    corners = [(right, bottom)]
    if tool == "Lasso Select":
        corners = [(right, top), (right, bottom), (left, bottom), (left, top)]
    for corner in corners:
        page.mouse.move(*corner, steps=8)
    page.mouse.up()
    expect(page.get_by_text("160 chosen, 8 shown")).to_be_visible()
    expect(page.locator(".near")).to_have_count(8 + 4)


def test_the_view_is_intact_after_another_projection_and_another_page(new_page, server):
    page = ready(new_page(f"{server}/map"))
    page.get_by_role("radio", name="PCA").click()
    page.get_by_role("radio", name="captions").first.click()
    expect(page).to_have_url(re.compile("map_method=PCA"))
    expect(page).to_have_url(re.compile("map_sides=captions"))
    address = page.url
    page.get_by_role("link", name="Models", exact=True).click()
    expect(page.locator("h1.title")).to_have_text("Models")
    page.get_by_role("link", name="Map", exact=True).click()
    ready(page)
    expect(page.get_by_role("radio", name="PCA")).to_have_attribute("aria-checked", "true")
    other = ready(new_page(address))
    expect(other.get_by_role("radio", name="PCA")).to_have_attribute("aria-checked", "true")


@pytest.mark.parametrize(("width", "scheme"), [(800, "light"), (800, "dark"), (1280, "dark")])
def test_it_fits_narrow_and_dark_screens(new_page, server, picture, width, scheme):
    page = ready(new_page(f"{server}/map", width=width, scheme=scheme))
    main = page.get_by_test_id("stMain")
    assert main.evaluate("m => m.scrollWidth - m.clientWidth") <= 0
    picture(page, f"map-{width}-{scheme}")
