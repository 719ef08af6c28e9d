"""What a user waits for on the pages Components and Map, in the browser.

- Components: from navigation to the parts and neighbours of the first scene, beside an empty page
  of the same run (floor: one second later); a part switched off until the neighbours are new
  (floor 200 ms beyond a counter's click); and a model of the bundled size taken apart afresh, 2,000
  scenes, image and text (floor 15 s).
- Map of 10,000 points: a change of colour and a click until the page has answered (floor 500 ms).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from tests.benchmarks.pages import first_visit, summary, timed
from tests.browser.conftest import ROOT, chromium, served

HERE = Path(__file__).parent
PLOT = ".st-key-map_chart .js-plotly-plot"
CENTRE = """
(plot) => {
  const trace = plot._fullData.find((t) => t.customdata);
  const { xaxis, yaxis } = plot._fullLayout;
  const box = plot.getBoundingClientRect();
  const k = Math.floor(Math.random() * trace.x.length);
  return [box.x + xaxis._offset + xaxis.l2p(trace.x[k]),
          box.y + yaxis._offset + yaxis.l2p(trace.y[k])];
}
"""
FRESH = """
import sys, time
from pathlib import Path
from binding_core.encoders import card, load
from binding_core.geometry.component_store import take_model_apart
encoder = load("low-coverage")
encoder.warm_up()
start = time.perf_counter()
take_model_apart(encoder, card=card("low-coverage"), folder=Path(sys.argv[1]))
print(time.perf_counter() - start)
"""


def components(browser: Browser, repeats: int, clicks: int) -> dict:
    found: dict[str, list[float]] = {"empty": [], "components": []}
    pages = {
        "empty": (HERE / "empty_app.py", "", "text=empty"),
        "components": (ROOT / "app.py", "/components", ".looked"),
    }
    for _ in range(repeats):
        for name, (script, path, selector) in pages.items():
            with (
                tempfile.TemporaryDirectory() as home,
                served(script, Path(home)) as address,
            ):
                first_visit(browser, address + path, selector)  # a server's first is another tale
                time.sleep(6)
                found[name] += [first_visit(browser, address + path, selector) for _ in range(3)]
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as two,
        served(HERE / "counter_app.py", Path(one)) as counter_address,
        served(ROOT / "app.py", Path(two)) as address,
    ):
        counter, page = browser.new_page(), browser.new_page()
        counter.goto(counter_address)
        page.goto(f"{address}/components")
        page.wait_for_selector(".looked")
        page.wait_for_timeout(8000)
        count = counter.get_by_role("button", name="Count")
        switch = page.get_by_text("binding of red square", exact=True)
        times: dict[str, list[float]] = {"counter": [], "switch": []}
        for _ in range(clicks):
            counter.bring_to_front()
            times["counter"].append(timed(counter, ".count", count.click))
            page.bring_to_front()
            times["switch"].append(timed(page, ".looked", switch.click))
            page.wait_for_timeout(200)
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-c", FRESH, home]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    medians = {name: float(np.median(values)) for name, values in found.items()}
    return {
        "first content (s)": {name: round(value, 2) for name, value in medians.items()},
        "later than an empty page (s)": round(medians["components"] - medians["empty"], 2),
        "part switched off": {name: summary(values) for name, values in times.items()},
        "fresh model (s)": round(float(done.stdout), 1),
        "floors": {"later (s)": 1, "switch above counter (ms)": 200, "fresh (s)": 15},
    }


def map_interaction(browser: Browser, n: int, clicks: int) -> dict:
    with tempfile.TemporaryDirectory() as home, served(ROOT / "app.py", Path(home)) as address:
        page: Page = browser.new_page(viewport={"width": 1280, "height": 1000})
        link = f"mapped=Control%3A+product&map_method=PCA&map_drawn=a+sample+of+all&map_n={n}"
        page.goto(f"{address}/map?{link}")
        page.wait_for_selector(PLOT, timeout=300_000)
        page.wait_for_timeout(8000)
        alt = "document.querySelector('.st-key-map_chart')"
        colours = []
        for i in range(clicks):
            page.get_by_role("combobox", name="Colour by").click()
            option = page.get_by_role("option").nth(1 + i % 3)
            option.wait_for()
            before = page.evaluate(f"{alt}.querySelector('.legend').textContent")
            start = time.perf_counter()
            option.click()
            page.wait_for_function(
                f"before => {{ const l = {alt}?.querySelector('.legend');"
                " return l && l.textContent !== before; }",
                arg=before,
            )
            colours.append(1000 * (time.perf_counter() - start))
            page.wait_for_timeout(500)
        chosen = []
        for _ in range(clicks):
            x, y = page.locator(PLOT).evaluate(CENTRE)
            before = page.evaluate("document.querySelector('.nearest')?.innerText ?? ''")
            page.mouse.move(x, y)
            page.wait_for_timeout(300)
            start = time.perf_counter()
            page.mouse.click(x, y)
            page.wait_for_function(
                "before => (document.querySelector('.nearest')?.innerText ?? '') !== before",
                arg=before,
                timeout=10_000,
            )
            chosen.append(1000 * (time.perf_counter() - start))
            page.wait_for_timeout(500)
    return {
        "points": n,
        "colour": summary(colours),
        "click": summary(chosen),
        "floor_ms": 500,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2, help="servers started for each app")
    parser.add_argument("--clicks", type=int, default=12)
    parser.add_argument("--points", type=int, default=10_000)
    options = parser.parse_args()
    with chromium() as browser:
        result = {
            "components": components(browser, options.repeats, options.clicks),
            "map": map_interaction(browser, options.points, options.clicks),
        }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
