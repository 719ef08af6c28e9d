"""Taking a scene apart in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect


def ready(page: Page) -> Page:
    expect(page.locator(".looked .near")).to_have_count(4)
    expect(page.get_by_text("The numbers")).to_be_visible()
    return page


def nearest(page: Page) -> list[str]:
    return [figure.get_attribute("data-caption") for figure in page.locator(".near").all()]


def test_a_part_is_switched_off_and_the_neighbours_change(new_page, server, picture):
    page = ready(new_page(f"{server}/components"))
    expect(page.locator(".near").first).to_have_class(re.compile("wanted"))
    picture(page, "components-1280-light")
    before = nearest(page)
    for name in ("binding of red square", "binding of blue circle"):
        page.get_by_text(name, exact=True).click()
    expect(page.locator(".looked .facts")).to_contain_text("objects recognised no")
    expect(page.locator(".looked .facts")).to_contain_text("concepts recognised yes")
    assert nearest(page) != before
    page.get_by_role("checkbox", name="binding of red square").focus()
    page.keyboard.press("Space")
    page.get_by_role("checkbox", name="binding of blue circle").focus()
    page.keyboard.press("Space")
    expect(page.locator(".looked .facts")).to_contain_text("objects recognised yes")
    assert nearest(page) == before


def test_an_exchange_finds_the_swapped_scene(new_page, server):
    page = ready(new_page(f"{server}/components"))
    page.get_by_text("Exchange its objects").click()
    page.get_by_role("button", name="Swap colours").click()
    expect(page.get_by_text(re.compile("is number 1 of 602"))).to_be_visible()
    page.get_by_role("radio", name="without the new scene").click()
    expect(page.get_by_text(re.compile("is number"))).to_have_count(0)
    expect(page.locator(".near.wanted")).to_have_count(0)


def test_the_scene_on_compose_is_taken_apart(new_page, server):
    page = new_page(server)
    expect(page.locator(".verdict")).to_have_count(3)
    page.get_by_role("button", name="Swap colours").click()
    expect(page.locator('.object[data-object="blue square"]')).to_have_count(1)
    page.get_by_role("link", name="Components", exact=True).click()
    ready(page)
    expect(page.get_by_text("binding of blue square", exact=True)).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(800, "light"), (800, "dark"), (1280, "dark")])
def test_it_fits_narrow_and_dark_screens(new_page, server, picture, width, scheme):
    page = ready(new_page(f"{server}/components", width=width, scheme=scheme))
    sideways = (
        "(m => m.scrollWidth - m.clientWidth)(document.querySelector('[data-testid=stMain]'))"
    )
    assert page.evaluate(sideways) <= 0
    picture(page, f"components-{width}-{scheme}")
