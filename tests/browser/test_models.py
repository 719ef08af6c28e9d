import pytest
from playwright.sync_api import expect

from binding_core.encoders import BUNDLED_IDS
from binding_core.encoders.public import PUBLIC_CHECKPOINTS
from tests.browser.conftest import ROOT, served
from tests.unit.hub import Hub


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (800, "light"), (800, "dark")]
)
def test_every_model_is_shown(new_page, server, picture, width, scheme):
    page = new_page(f"{server}/models", width=width, scheme=scheme)
    ids = [*BUNDLED_IDS, *(c.id for c in PUBLIC_CHECKPOINTS)]
    for model in ids:
        expect(page.locator(f".model[data-model={model}]")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    picture(page, f"models-{width}-{scheme}")


def test_the_very_first_visitor_may_come_by_a_link_to_a_page(new_page, tmp_path):
    with served(ROOT / "app.py", tmp_path) as address:
        page = new_page(f"{address}/models")
        expect(page.locator("h1.title")).to_have_text("Models")
        expect(page.get_by_role("link", name="Compose", exact=True)).to_be_visible()
        expect(page.get_by_text("Page not found")).to_have_count(0)
        page.get_by_role("link", name="Compose", exact=True).click()
        expect(page.locator("h1.title")).to_have_text("Compose")


def test_without_network_a_download_says_at_once_what_to_do(new_page, tmp_path):
    with served(ROOT / "app.py", tmp_path, HF_ENDPOINT="http://127.0.0.1:9") as address:
        page = new_page(f"{address}/models")
        page.get_by_role("button", name="Download 166 MB").click()
        expect(page.get_by_text("the hub cannot be reached from this machine")).to_be_visible()
        expect(page.get_by_text("hf download timm/vit_medium")).to_be_visible()


def test_the_offline_switch_closes_every_download(new_page, tmp_path):
    with served(ROOT / "app.py", tmp_path) as address:
        page = new_page(f"{address}/models")
        page.get_by_text("Stay offline").click()
        expect(page.get_by_role("button", name="Download 166 MB")).to_be_disabled()
        other = new_page(f"{address}/models")  # the setting is the machine's, not the session's
        expect(other.get_by_role("button", name="Download 166 MB")).to_be_disabled()


def test_an_own_model_joins_the_others(new_page, tmp_path, checkpoint_folder, picture):
    with served(ROOT / "app.py", tmp_path) as address:
        page = new_page(f"{address}/models")
        page.get_by_label("Folder or .safetensors file").fill(str(tmp_path / "nothing.bin"))
        page.get_by_role("button", name="Add the model").click()
        expect(page.get_by_text("is neither a model folder")).to_be_visible()
        page.get_by_label("Folder or .safetensors file").fill(str(checkpoint_folder))
        page.get_by_role("button", name="Add the model").click()
        # torch may have to be imported first
        expect(page.locator('.model[data-model="own:tiny"]')).to_be_visible(timeout=60_000)
        picture(page, "models-own")
        page.get_by_role("link", name="Compose", exact=True).click()
        page.get_by_role("button", name="tiny", exact=True).click()
        expect(page.locator('.verdict[data-model="own:tiny"]')).to_be_visible()


def test_a_download_shows_its_progress_is_cancelled_and_goes_on(
    new_page, tmp_path, checkpoint_folder
):
    repo = "timm/vit_medium_patch16_clip_224.tinyclip_yfcc15m"
    files = {f.name: f.read_bytes() for f in checkpoint_folder.iterdir()}
    hub = Hub(repo, files, chunk_delay=0.3)
    with served(ROOT / "app.py", tmp_path, HF_ENDPOINT=hub.url) as address:
        page = new_page(f"{address}/models")
        card = page.locator(".st-key-public_tinyclip-vit-m-16")
        card.get_by_role("button", name="Download 166 MB").click()
        expect(card.get_by_text("Downloading:")).to_be_visible()
        card.get_by_role("button", name="Cancel").click()
        expect(card.get_by_text("Cancelled.")).to_be_visible()
        card.get_by_role("button", name="Download 166 MB").click()
        expect(card.get_by_text("On this machine")).to_be_visible(timeout=60_000)
        card.get_by_role("button", name="Open in Compose").click()
        expect(page.get_by_role("button", name="TinyCLIP ViT-M/16")).to_be_visible()
    hub.close()
