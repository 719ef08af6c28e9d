"""What a user waits for in the browser, each beside an empty Streamlit app in the same run.

- first page: from navigation to the first useful content, cold (a server just started) and warm;
- swap click and end of a drag: until the third model's verdict is new, beside a counter's click;
- swap click while a training runs in the same server: floor one second at the 95th percentile;
- memory: the server's peak after ten sessions that visited both pages.
"""

import argparse
import json
import re
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page

from tests.browser.conftest import ROOT, chromium, served

HERE = Path(__file__).parent
USEFUL = ".verdict[data-model=high-coverage]"
# Resolves with the milliseconds from the event to the first change of the watched text.
WATCH = """
(watched) => new Promise((resolve) => {
  const text = () => document.querySelector(watched)?.innerText;
  const before = text();
  let start = null;
  const begin = () => { start = start ?? performance.now(); };
  window.addEventListener('click', begin, { capture: true, once: true });
  window.addEventListener('pointerup', begin, { capture: true, once: true });
  const look = () => {
    const now = text();
    if (start !== null && now && now !== before) resolve(performance.now() - start);
    else requestAnimationFrame(look);
  };
  look();
})
"""


def first_visit(browser: Browser, address: str, selector: str) -> float:
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_selector(selector, timeout=60_000)
    seconds = time.perf_counter() - start
    context.close()
    return seconds


def timed(page: Page, watched: str, act) -> float:
    # In braces: evaluate() would wait for a promise that it is handed.
    page.evaluate(f"() => {{ window.measured = ({WATCH})({json.dumps(watched)}); }}")
    act()
    return page.evaluate("window.measured")


def summary(milliseconds: list[float]) -> dict:
    return {
        "median_ms": round(float(np.median(milliseconds))),
        "p95_ms": round(float(np.percentile(milliseconds, 95))),
        "n": len(milliseconds),
    }


def first_pages(browser: Browser, repeats: int) -> dict:
    found: dict[str, list[float]] = {
        "empty cold": [],
        "app cold": [],
        "empty warm": [],
        "app warm": [],
    }
    scripts = {
        "empty": (HERE / "empty_app.py", "text=empty"),
        "app": (ROOT / "app.py", USEFUL),
    }
    for _ in range(repeats):
        for name, (script, selector) in scripts.items():
            with (
                tempfile.TemporaryDirectory() as home,
                served(script, Path(home)) as address,
            ):
                found[f"{name} cold"].append(first_visit(browser, address, selector))
                time.sleep(8)  # the models are read in the background
                found[f"{name} warm"] += [first_visit(browser, address, selector) for _ in range(3)]
    medians = {name: round(float(np.median(values)), 2) for name, values in found.items()}
    return {
        **{f"{name} (s)": value for name, value in medians.items()},
        "later cold (s)": round(medians["app cold"] - medians["empty cold"], 2),
        "later warm (s)": round(medians["app warm"] - medians["empty warm"], 2),
        "floor (s)": 1.0,
    }


def open_app(browser: Browser, address: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 1400})
    page.goto(address)
    page.wait_for_selector(USEFUL)
    page.wait_for_selector(".stage .object")
    return page


def clicks(browser: Browser, n: int) -> dict:
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as two,
        served(HERE / "counter_app.py", Path(one)) as counter_address,
        served(ROOT / "app.py", Path(two)) as address,
    ):
        counter = browser.new_page()
        counter.goto(counter_address)
        count = counter.get_by_role("button", name="Count")
        count.wait_for()
        page = open_app(browser, address)
        time.sleep(10)  # the models are read in the background
        swap = page.get_by_role("button", name="Swap colours")
        stage = page.locator(".stage").bounding_box()

        def at(x: float, y: float) -> tuple[float, float]:
            return stage["x"] + x * stage["width"], stage["y"] + y * stage["height"]

        places = [(0.3, 0.42)]

        def drag() -> None:
            x, y = places[-1]
            # Somewhere new each time, so that no picture comes out of the cache.
            k = len(places)
            target = (0.2 + 0.03 * (k % 7) + 0.001 * k, 0.25 + 0.04 * (k % 6) + 0.001 * k)
            page.mouse.move(*at(x, y))
            page.mouse.down()
            page.mouse.move(*at(*target), steps=4)
            page.mouse.up()
            places.append(target)

        found = {"counter": [], "swap": [], "drag": []}
        for i in range(n + 3):
            counter.bring_to_front()  # a page behind another one is drawn less often
            counter.wait_for_timeout(250)
            measured = {"counter": timed(counter, ".count", count.click)}
            page.bring_to_front()
            page.wait_for_timeout(250)
            measured["swap"] = timed(page, USEFUL, swap.click)
            page.wait_for_timeout(250)
            measured["drag"] = timed(page, USEFUL, drag)
            page.wait_for_timeout(250)
            if i >= 3:  # the first ones warm up
                for name, value in measured.items():
                    found[name].append(value)
    result = {name: summary(values) for name, values in found.items()}
    for name in ("swap", "drag"):
        result[f"{name} above counter"] = {
            "median_ms": result[name]["median_ms"] - result["counter"]["median_ms"],
            "p95_ms": result[name]["p95_ms"] - result["counter"]["p95_ms"],
        }
    return {**result, "floor": {"median_ms": 150, "p95_ms": 400}}


def while_training(browser: Browser, n: int) -> dict:
    with tempfile.TemporaryDirectory() as home, served(ROOT / "app.py", Path(home)) as address:
        train = browser.new_page()
        train.goto(f"{address}/train")
        train.get_by_text("Optimizer", exact=True).first.click()
        train.get_by_label("Steps", exact=True).fill("100000")
        train.get_by_role("button", name="Train", exact=True).click()
        train.get_by_text(re.compile(r"steps/s")).wait_for(timeout=60_000)
        page = open_app(browser, address)
        page.wait_for_timeout(10_000)  # the models are read in the background
        swap = page.get_by_role("button", name="Swap colours")
        found = []
        for _ in range(n + 3):
            found.append(timed(page, USEFUL, swap.click))
            page.wait_for_timeout(250)
        train.bring_to_front()
        train.get_by_role("button", name="Pause").click()
        train.get_by_text(re.compile("Stands still at step")).wait_for(timeout=60_000)
        page.close()
        train.close()
    return {"swap": summary(found[3:]), "floor": {"p95_ms": 1000}}


def memory(browser: Browser, sessions: int) -> dict:
    with tempfile.TemporaryDirectory() as home, served(ROOT / "app.py", Path(home)) as address:
        pages = []
        for _ in range(sessions):
            page = open_app(browser, address)
            page.get_by_role("button", name="Swap colours").click()
            page.get_by_role("button", name="Random scene").click()
            page.wait_for_timeout(1500)
            page.get_by_role("link", name="Models", exact=True).click()
            page.wait_for_selector(".model[data-model=high-coverage]")
            page.get_by_role("link", name="Compose", exact=True).click()
            page.wait_for_selector(USEFUL)
            pages.append(page)
        peak = peak_megabytes(address)
        for page in pages:
            page.close()
    return {"peak_MB": peak, "sessions": sessions, "floor_MB": 1200}


def peak_megabytes(address: str) -> float:
    """VmHWM of the server that listens at the address (Linux)."""
    port = address.rsplit(":", 1)[1]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            command = (status.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if "streamlit" in command and command.strip().endswith(port):
                match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
                return round(int(match[1]) / 1024, 1)
        except OSError:
            continue
    raise RuntimeError("the server's process was not found")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="servers started for each app")
    parser.add_argument("--clicks", type=int, default=40)
    parser.add_argument("--sessions", type=int, default=10)
    options = parser.parse_args()
    with chromium() as browser:
        result = {
            "first_page": first_pages(browser, options.repeats),
            "clicks": clicks(browser, options.clicks),
            "while_training": while_training(browser, options.clicks),
            "memory": memory(browser, options.sessions),
        }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
