import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
SCREENSHOTS = Path(__file__).parent / "screenshots"
SYSTEM_CHROMIUM = Path("/usr/bin/chromium")
expect.set_options(timeout=20_000)  # ms; a busy machine is slow, not wrong
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextmanager
def served(script: Path, home: Path, **environment: str) -> Iterator[str]:
    """A Streamlit server of ``script``; its address."""
    port = free_port()
    log = (home / "server.log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)],
        cwd=ROOT,
        env={
            **os.environ,
            "CBE_CACHE_DIR": str(home / "cache"),
            "CBE_DATA_DIR": str(home / "data"),
            "HF_HUB_CACHE": str(home / "hub"),
            **environment,
        },
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=1)
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError((home / "server.log").read_text())
        yield address
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[str]:
    with served(ROOT / "app.py", tmp_path_factory.mktemp("home")) as address:
        yield address


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium, or else Playwright's own, installed at its first use."""
    path = SYSTEM_CHROMIUM if SYSTEM_CHROMIUM.exists() else None
    if path is None:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def new_page(browser):
    """Opens pages in sessions of their own; checks at the end that none asked another host."""
    contexts, elsewhere, errors = [], [], []

    def open_page(url: str, width: int = 1280, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 1000}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on(
            "request",
            lambda r: (
                elsewhere.append(r.url)
                if r.url.startswith("http") and "127.0.0.1" not in r.url
                else None
            ),
        )
        page.on("pageerror", lambda e: errors.append(str(e)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert elsewhere == []
    assert errors == []


@pytest.fixture
def picture():
    """Saves a screenshot of the whole page for people to look at."""

    def take(page: Page, name: str) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        width = page.viewport_size["width"]
        page.set_viewport_size({"width": width, "height": min(4000, max(1000, height + 60))})
        page.wait_for_timeout(400)
        page.screenshot(path=SCREENSHOTS / f"{name}.png")
        page.set_viewport_size({"width": width, "height": 1000})

    return take
