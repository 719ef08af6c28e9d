"""The house keeps its order: who may import whom, and what the first page may wait for."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Imports run downward only: a module may import from its own floor or from a lower one.
FLOORS = (
    {"errors", "files"},
    {"concepts", "settings", "glossary"},
    {"scenes"},
    {"captions", "render", "presets", "editing"},
    {"links", "pictures", "jobs"},
    {"composition", "lessons"},
    {"encoders"},
    {"embeddings"},
    {"agreement"},
    {"training"},
    {"geometry"},
    {"alignment", "complexity"},
    {"export"},
    {"figures"},
    {"document"},
    {"__main__"},
)


def imports(path: Path) -> set[str]:
    """Names of everything a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


MODULES = sorted((ROOT / "binding_core").rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_core_never_imports_streamlit_or_pages(path):
    for name in imports(path):
        assert name.split(".")[0] not in {"streamlit", "pages", "app"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_downward(path):
    floor = {name: i for i, names in enumerate(FLOORS) for name in names}
    part = path.relative_to(ROOT / "binding_core").parts[0].removesuffix(".py")
    if part == "__init__":
        return
    for name in imports(path):
        package, _, rest = name.partition(".")
        if package == "binding_core" and rest:
            other = rest.split(".")[0]
            assert floor[other] <= floor[part], f"{part} imports {other}"


def test_pages_are_thin():
    for page in (ROOT / "pages").glob("*.py"):
        assert len(page.read_text("utf-8").splitlines()) <= 120, page.name


def test_no_two_widgets_share_a_key():
    """A session has one set of keys for all pages: a shared one takes the other's value along."""
    users: dict[str, set[str]] = {}
    for path in (ROOT / "pages").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.keyword(arg="key", value=ast.Constant(value=key)):
                    users.setdefault(key, set()).add(str(path.relative_to(ROOT)))
    assert {key: files for key, files in users.items() if len(files) > 1} == {}


FIRST_PAGE = """
import sys
from streamlit.testing.v1 import AppTest
streamlits_own = set(sys.modules)  # it imports plotly itself
app = AppTest.from_file("pages/compose.py", default_timeout=60)
app.session_state.navigated = True
app.run()
assert not app.exception, app.exception
blocks = [h.proto.body for h in app.get("html")]
assert sum('class="verdict"' in b for b in blocks) == 3, "the three verdicts are on the first page"
heavy = {"torch", "open_clip", "umap", "sklearn", "plotly", "scipy", "transformers"}
print(sorted(heavy & (set(sys.modules) - streamlits_own)))
"""


def test_the_first_page_shows_its_verdicts_before_anything_heavy_is_imported(tmp_path):
    """Torch, UMAP and the like are imported later, in the background."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_PAGE],
        cwd=ROOT,
        env={**os.environ, "CBE_CACHE_DIR": str(tmp_path), "CBE_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().splitlines()[-1] == "[]"
