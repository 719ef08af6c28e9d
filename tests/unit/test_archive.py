"""A run goes out as a zip and comes back the same; nothing else comes in."""

import gzip
import io
import json
import os
import shutil
import stat
import struct
import warnings
import zipfile
import zlib
from copy import deepcopy
from functools import cache
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from binding_core.errors import UserError
from binding_core.figures.curves import (
    MEASURES,
    PARTS,
    curves,
    loss_curve,
    measured_lines,
    panel_chart,
)
from binding_core.files import ASSETS, runs_folder
from binding_core.training import archive, trainer
from binding_core.training.archive import FILES, export_run, import_run
from binding_core.training.run_config import PictureRunConfig
from binding_core.training.runs import Run, create_run, list_runs
from binding_core.training.train_run import train_run
from tests.unit.test_runs import TINY, without_speed

MODEL = ASSETS / "models" / "low-coverage"  # a picture run's files, but for what makes it a run


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Run:
    run = create_run(TINY, folder=tmp_path_factory.mktemp("done") / "run")
    train_run(run, stop=Event())
    return run


@pytest.fixture(scope="module")
def files(done) -> dict[str, bytes]:
    return unzipped(export_run(done))


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def zipped(files: dict[str, bytes], *, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return buffer.getvalue()


def everything() -> set[Path]:
    return set(runs_folder().rglob("*"))


def refused(content: bytes, said: str) -> None:
    create_run(TINY)
    before = everything()
    with pytest.raises(UserError, match=said) as caught:
        import_run(content)
    assert everything() == before
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def changed(content: bytes, path: str, value: object) -> bytes:
    """JSON with another value at a path as in ``seen.swap_accuracy.value``; ... leaves it out."""
    tree = json.loads(content)
    *way, last = path.split(".")
    place = tree
    for key in way:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(tree).encode()


def with_line(files: dict[str, bytes], number: int, line: bytes) -> dict[str, bytes]:
    lines = files["metrics.jsonl"].splitlines()
    lines[number] = line
    return files | {"metrics.jsonl": b"\n".join(lines) + b"\n"}


# There and back


def test_a_run_comes_back_the_same(done, files):
    (done.folder / "note.txt").write_text("Binds – “at last”.", encoding="utf-8")
    run = import_run(export_run(done))
    (done.folder / "note.txt").unlink()
    assert run.folder.parent == runs_folder()
    assert run.id.startswith("tiny-")
    assert list_runs() == [run]
    assert run.state == "done"
    for what in ("config", "metrics", "result", "created", "step"):
        assert getattr(run, what) == getattr(done, what)
    there = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    assert there == files | {"note.txt": "Binds – “at last”.".encode()}
    assert "weights.safetensors" in there


def test_a_run_imported_twice_is_there_twice_and_another_folder_can_be_named(done, tmp_path):
    content = export_run(done)
    assert import_run(content).id != import_run(content).id
    assert import_run(content, into=tmp_path / "elsewhere").folder.parent == tmp_path / "elsewhere"
    assert len(list_runs()) == 2


def test_a_stopped_run_goes_on_after_its_journey_to_the_same_weights(done):
    halted, stop = create_run(TINY), Event()
    train_run(halted, stop=stop, report=lambda m: stop.set() if m.step == 15 else None)
    run = import_run(export_run(halted))
    assert (run.state, run.step) == ("waiting", 15)
    assert train_run(run, stop=Event())
    assert without_speed(run) == without_speed(done)
    assert run.result == done.result
    ours, theirs = load_file(run.weights), load_file(done.weights)
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in theirs)


def test_a_run_that_was_never_begun_and_one_that_failed_come_back():
    run = create_run(TINY)
    assert import_run(export_run(run)).state == "waiting"
    (run.folder / "failure.txt").write_text("It diverged.")
    assert import_run(export_run(run)).failure == "It diverged."


def picture_files() -> dict[str, bytes]:
    run = create_run(PictureRunConfig(name="pictures", training=TINY.training))
    names = ("open_clip_config.json", "open_clip_model.safetensors", "bpe.txt.gz", "card.json")
    for name in names:
        shutil.copy(MODEL / name, run.folder)
    content = unzipped(export_run(run))
    shutil.rmtree(run.folder)
    return content


def test_a_picture_run_comes_back_the_same():
    content = picture_files()
    assert len(content) == 6
    run = import_run(zipped(content))
    assert {path.name: path.read_bytes() for path in run.folder.iterdir()} == content
    assert run.config.world == "pictures"


def test_equal_runs_give_equal_bytes(done, tmp_path):
    twin = tmp_path / "twin"
    shutil.copytree(done.folder, twin)
    for path in twin.iterdir():
        os.utime(path, (1, 1))
    content = export_run(done)
    assert export_run(Run(twin)) == content
    with zipfile.ZipFile(io.BytesIO(content)) as packed:  # and at any time, on any system
        marks = {(m.date_time[0], m.create_system, m.external_attr) for m in packed.infolist()}
    assert marks == {(1980, 3, (stat.S_IFREG | 0o644) << 16)}


def test_only_a_runs_own_files_go_out(done, files):
    assert (done.folder / "lock").exists()
    (done.folder / "log.txt").write_text("x")
    (done.folder / ".weights.safetensors.0f").write_text("x")
    assert unzipped(export_run(done)) == files
    assert set(files) < set(FILES)
    with zipfile.ZipFile(io.BytesIO(export_run(done))) as packed:
        members = packed.infolist()
    how = {member.filename: member.compress_type for member in members}
    assert how["weights.safetensors"] == zipfile.ZIP_STORED
    assert how["metrics.jsonl"] == zipfile.ZIP_DEFLATED


def test_a_line_that_is_still_being_written_stays_out(done, files):
    path = done.folder / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"step": 31, "measured": {"seen": {}')
    assert unzipped(export_run(done)) == files
    path.write_bytes(whole)


def test_what_can_not_go_out_is_named(monkeypatch):
    run = create_run(TINY)
    (run.folder / "note.txt").write_bytes(b"x" * 10_001)
    with pytest.raises(UserError, match=r"note\.txt has .* MB"):
        export_run(run)
    (run.folder / "note.txt").unlink()
    (run.folder / "note.txt").mkdir()
    with pytest.raises(UserError, match=r"note\.txt can't be read"):
        export_run(run)
    (run.folder / "note.txt").rmdir()
    monkeypatch.setattr(archive, "MAX_ARCHIVE_BYTES", 100)
    with pytest.raises(UserError, match="an archive may have"):
        export_run(run)
    (run.folder / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"no readable config\.json"):
        export_run(run)


def test_the_checkpoint_is_called_as_the_trainer_calls_it():
    assert archive.CHECKPOINT_NAME == trainer.CHECKPOINT_NAME


# What is no archive of a run


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.9, 0.999])
def test_an_archive_cut_short_is_refused(files, share):
    content = zipped(files)
    refused(content[: int(len(content) * share)], "not a zip archive, or it is damaged")


def test_an_archive_that_is_too_large_is_refused_unread(files, monkeypatch):
    content = zipped(files)
    monkeypatch.setattr(archive, "MAX_ARCHIVE_BYTES", len(content) - 1)
    refused(content, r"The archive has .* MB; up to .* MB are read")


def test_too_many_members_are_refused_before_they_are_listed(files, monkeypatch):
    content = zipped(files | {f"{i}.txt": b"" for i in range(30)})
    monkeypatch.setattr(zipfile, "ZipFile", None)  # not even opened
    refused(content, "too many files; a run has at most 12")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../config.json", "“../config.json” in the archive is a folder or lies in one"),
        ("/etc/passwd", "“/etc/passwd” .* lies in one"),
        ("run/config.json", "“run/config.json” .* lies in one"),
        ("folder/", "“folder/” in the archive is a folder"),
        ("..\\note.txt", r"“..\\note.txt” .* lies in one"),
        ("C:\\note.txt", "lies in one"),
        ("..", "“..” in the archive is not a file of a run"),
        ("C:note.txt", "“C:note.txt” .* is not a file of a run"),
        (".hidden", "“.hidden” in the archive is not a file of a run; these are: config.json, "),
        ("NOTE.TXT", "is not a file of a run"),
        ("lock", "is not a file of a run"),
        ("weights.pt", "“weights.pt” in the archive is not a file of a run"),
        ("a\nb" + "c" * 10_000, r"“a\?bc+…” in the archive"),
    ],
)
def test_members_that_are_not_a_runs_files_are_named(files, name, said):
    refused(zipped(files | {name: b""}), said)


def test_a_name_with_a_null_byte_is_not_cut_there(files):
    content = zipped(files | {"note.txt!": b"x"}).replace(b"note.txt!", b"note.txt\0")
    refused(content, r"“note.txt\?” in the archive is not a file of a run")


def test_a_member_that_comes_twice_is_refused(files):
    buffer = io.BytesIO(zipped(files))
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "a") as packed:
        warnings.simplefilter("ignore")
        packed.writestr("config.json", files["config.json"])
    refused(buffer.getvalue(), "“config.json” is in the archive twice")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO])
def test_links_and_devices_are_refused(files, kind):
    buffer = io.BytesIO(zipped(files))
    with zipfile.ZipFile(buffer, "a") as packed:
        link = zipfile.ZipInfo("note.txt")
        link.create_system, link.external_attr = 3, (kind | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
    refused(buffer.getvalue(), "“note.txt” in the archive is a link or a device")


def patched(content: bytes, name: str, *, field: str, value: int) -> bytes:
    """An archive with another value in one member's listed header, and in its own if there too."""
    form, own, listed = {
        "flags": ("<H", 6, 8),
        "how": ("<H", 8, 10),
        "crc": ("<L", 14, 16),
        "size": ("<L", 22, 24),
        "offset": ("<L", None, 42),
    }[field]
    data = bytearray(content)
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        start = packed.getinfo(name).header_offset
    if own is not None:
        struct.pack_into(form, data, start + own, value)
    at = content.rindex(name.encode()) - 46
    assert data[at : at + 4] == b"PK\x01\x02"
    struct.pack_into(form, data, at + listed, value)
    return bytes(data)


def test_encrypted_members_are_refused(files):
    content = patched(zipped(files), "config.json", field="flags", value=1)
    refused(content, "“config.json” in the archive is encrypted")


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_compressing_are_refused(files, how):
    refused(zipped(files, how=how), "“config.json” in the archive is compressed in a way")


@pytest.mark.parametrize(("field", "value"), [("how", 99), ("flags", 0x20), ("flags", 0x40)])
def test_what_zip_files_may_do_as_well_is_refused(files, field, value):
    content = patched(zipped(files), "config.json", field=field, value=value)
    refused(content, "“config.json” in the archive is")


def test_a_name_that_is_no_utf_8_is_refused(files):
    content = zipped(files | {"nöte.txt": b"x"}).replace("nöte".encode(), b"n\xff\xffte")
    refused(content, "not a zip archive, or it is damaged")


def test_a_member_that_is_said_to_lie_beyond_every_file_is_refused(files):
    buffer = io.BytesIO(zipped(files))
    with zipfile.ZipFile(buffer, "a") as packed:
        note = zipfile.ZipInfo("note.txt")
        note.extra = struct.pack("<HHQ", 1, 8, 2**64 - 1)  # its offset, for very large archives
        packed.writestr(note, b"x")
    content = patched(buffer.getvalue(), "note.txt", field="offset", value=2**32 - 1)
    refused(content, "“note.txt” in the archive is damaged or cut short")


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors"])
def test_a_wrong_checksum_is_noticed(files, name):
    content = patched(zipped(files), name, field="crc", value=1)
    refused(content, f"“{name}” in the archive is damaged or cut short")


@pytest.mark.parametrize("name", ["config.json", "checkpoint.safetensors"])
def test_a_flipped_bit_is_noticed(files, name):
    content = bytearray(zipped(files, how=zipfile.ZIP_STORED))
    content[content.index(files[name]) + 100] ^= 1
    refused(bytes(content), f"“{name}” in the archive is damaged or cut short")


@pytest.mark.parametrize("name", list(FILES))
def test_every_file_has_a_size_that_it_may_have(files, name, monkeypatch):
    monkeypatch.setitem(FILES, name, 2000)
    content = zipped({"config.json": files["config.json"], name: b" " * 2001})
    refused(content, f"“{name}” in the archive has 0.0019 MB; up to 0.0019 MB are read")


def test_a_bomb_that_says_its_size_is_not_unpacked(files, monkeypatch):
    monkeypatch.setattr(archive, "_read", None)
    content = zipped(files | {"note.txt": bytes(50 * 2**20)})
    refused(content, "“note.txt” in the archive has 50 MB; up to 0.0095 MB are read")


@pytest.mark.parametrize("name", ["note.txt", "weights.safetensors"])
def test_a_bomb_that_lies_about_its_size_is_not_unpacked(files, name, monkeypatch):
    asked = []
    read = zipfile.ZipExtFile.read
    monkeypatch.setattr(
        zipfile.ZipExtFile, "read", lambda self, n=-1: asked.append(n) or read(self, n)
    )
    content = zipped(files | {name: bytes(50 * 2**20)})
    refused(patched(content, name, field="size", value=100), f"“{name}” in the archive is damaged")
    assert 0 < min(asked) <= max(asked) <= max(FILES.values()) + 1


def test_a_member_that_says_more_than_it_holds_is_refused(files):
    content = zipped(files | {"note.txt": b"x" * 100})
    refused(patched(content, "note.txt", field="size", value=200), "“note.txt” .* is damaged")


def test_an_archive_without_settings_is_no_run(files):
    refused(zipped({"note.txt": b""}), r"no config\.json: it does not hold a run")
    refused(zipped({}), r"no config\.json")


# Archives whose files are not a run's


def a_share(**changes) -> dict:
    return {"value": 0.5, "ci95": [0.4, 0.6], "n": 9, "chance": 0.5} | changes


NOTHING = a_share(value=None, ci95=None, n=0, chance=None)
FAULTS = {
    "config: no JSON": ("config.json", b"{", "config.json in the archive is not valid JSON"),
    "config: no UTF-8": ("config.json", b'"\xff"', "config.json in the archive is not text"),
    "config: UTF-16": ("config.json", '{"a": 1}'.encode("utf-16"), "is not text in UTF-8"),
    "config: deep": ("config.json", b"[" * 50_000, "config.json in the archive is not valid JSON"),
    "config: a list": ("config.json", b"[]", "config.json in the archive: This run can't be"),
    "config: unknown": ("config.json", ("evil", 1), "evil"),
    "config: unknown, long": ("config.json", ("e\n" * 9000, 1), "config.json in the archive: "),
    "config: impossible": ("config.json", ("training.steps", 0), "training.steps"),
    "config: seed": (
        "config.json",
        ("training.seed", 2**63),
        "a seed is at most 9223372036854775807",
    ),
    "config: world": ("config.json", ("world", "smells"), "config.json in the archive"),
    "environment: no JSON": ("environment.json", b"", "environment.json in the archive"),
    "environment: a list": ("environment.json", b"[]", "environment.json in the archive"),
    "environment: no date": ("environment.json", ("created", ...), "“created”: Field required"),
    "environment: number": ("environment.json", ("created", 5), "“created”: Input should be"),
    "environment: long": ("environment.json", ("created", "x" * 41), "“created”: String should"),
    "result: no JSON": ("result.json", b"{", "result.json in the archive"),
    "result: null": ("result.json", b"null", "result.json in the archive"),
    "result: empty": ("result.json", b"{}", "“seen”: Field required"),
    "result: a part": ("result.json", ("unseen", ...), "“unseen”: Field required"),
    "result: a measure": ("result.json", ("seen.swap_accuracy", ...), "“seen.swap_accuracy”"),
    "result: no share": ("result.json", ("seen.swap_accuracy", 0.5), "“seen.swap_accuracy”"),
    "result: word": ("result.json", ("seen.swap_accuracy.value", "0.5"), "swap_accuracy.value”"),
    "result: NaN": ("result.json", ("seen.swap_accuracy.value", float("nan")), "finite"),
    "result: infinite": ("result.json", ("seen.swap_accuracy.chance", float("inf")), "finite"),
    "result: above 1": ("result.json", ("seen.swap_accuracy.value", 1.5), "between 0 and 1"),
    "result: chance": ("result.json", ("seen.swap_accuracy.chance", -1), "between 0 and 1"),
    "result: interval": ("result.json", ("seen.swap_accuracy.ci95", [0, 2]), "between 0 and 1"),
    "result: half": ("result.json", ("seen.swap_accuracy.ci95", [0.5]), "swap_accuracy.ci95"),
    "result: none": ("result.json", ("seen.swap_accuracy.ci95", None), "either all there or all"),
    "result: no chance": ("result.json", ("seen.swap_accuracy.chance", None), "either all there"),
    "result: n": ("result.json", ("seen.swap_accuracy.n", 2.5), "swap_accuracy.n”"),
    "result: extra": ("result.json", ("seen.swap_accuracy_by_place", 1), "accuracy_by_place”"),
    "result: extra, long": ("result.json", ("seen." + "e\n" * 9000, 1), "“seen.e"),
    "note: no UTF-8": ("note.txt", b"\xff", "note.txt in the archive is not text in UTF-8"),
    "note: long": ("note.txt", b"x" * 10_001, "“note.txt” in the archive has"),
    "failure: no UTF-8": ("failure.txt", b"\xff", "failure.txt in the archive is not text"),
    "weights: empty": ("weights.safetensors", b"", "weights.safetensors is not a safetensors"),
    "weights: pickle": ("weights.safetensors", b"\x80\x04" * 99, "is not a safetensors file"),
    "checkpoint: empty": ("checkpoint.safetensors", b"", "checkpoint.safetensors is not a"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_file_that_is_not_what_it_should_be_is_named(files, fault):
    name, content, said = FAULTS[fault]
    if isinstance(content, tuple):
        content = changed(files[name], *content)
    refused(zipped(files | {name: content}), said)


LINE_FAULTS = {
    "no JSON": (b"{}}", "Invalid JSON"),
    "empty": (b"", "Invalid JSON"),
    "a list": (b"[1]", "should be an object"),
    "no step": (("step", ...), "“step”: Field required"),
    "step: word": (("step", "10"), "“step”: Input should be a valid integer"),
    "step: float": (("step", 10.0), "“step”: Input should be a valid integer"),
    "step: true": (("step", True), "“step”: Input should be a valid integer"),
    "step: zero": (("step", 0), "“step”: Input should be greater"),
    "no loss": (("loss", ...), "“loss”: Field required"),
    "loss: null": (("loss", None), "“loss”: Input should be a valid number"),
    "loss: NaN": (("loss", float("nan")), "“loss”: Input should be a finite number"),
    "loss: huge": (("loss", 10**400), "“loss”: Input should be a finite number"),
    "no speed": (("steps_per_second", ...), "“steps_per_second”: Field required"),
    "speed: below 0": (("steps_per_second", -1), "“steps_per_second”"),
    "measured: null": (("measured", None), "“measured”: Input should be an object"),
    "measured: empty": (("measured", {}), "“measured.seen”: Field required"),
    "no part": (("measured.unseen", ...), "“measured.unseen”: Field required"),
    "no measure": (("measured.seen.concept_recognition", ...), "concept_recognition”: Field"),
    "no share": (("measured.seen.concept_recognition", None), "concept_recognition”: Input"),
    "no value": (("measured.seen.concept_recognition.value", ...), "recognition.value”: Field"),
    "value: word": (("measured.seen.concept_recognition.value", "1"), "recognition.value”: Input"),
    "no chance": (("measured.seen.object_recognition.chance", None), "either all there or all"),
    "one is null": (("measured.seen.swap_accuracy", NOTHING), "a measure is null where"),
    "no panel": (("measured.panel", ...), "“measured.panel”: Field required"),
    "panel: empty": (("measured.panel", []), "“measured.panel”: List should have at least"),
    "panel: wide": (("measured.panel", [[1.0, 1.0]]), "as many columns as rows"),
    "panel: large": (("measured.panel", [[0.0] * 51] * 51), "“measured.panel”: List should have"),
    "panel: NaN": (("measured.panel", [[float("nan")]]), "“measured.panel.0.0”: Input should be"),
    "panel: word": (("measured.panel", [["1"]]), "“measured.panel.0.0”: Input should be"),
    "step: back": (("step", 5), "of step 5 after step 5: steps rise"),
    "step: beyond": (("step", 31), "of step 31 after step 5: steps rise, up to the 30"),
}


@pytest.mark.parametrize("fault", LINE_FAULTS)
def test_each_line_of_the_metrics_that_would_break_a_reader_is_named(files, fault):
    line, said = LINE_FAULTS[fault]
    if isinstance(line, tuple):
        line = changed(files["metrics.jsonl"].splitlines()[1], *line)
    refused(zipped(with_line(files, 1, line)), rf"Line 2 of metrics.jsonl in the archive .*{said}")


def test_metrics_are_text():
    run = create_run(TINY)
    content = unzipped(export_run(run)) | {"metrics.jsonl": b"\xff"}
    refused(zipped(content), r"metrics\.jsonl in the archive is not text")


def test_what_a_run_may_well_say_is_taken(files):
    line = files["metrics.jsonl"].splitlines()[1]
    unseen = dict.fromkeys(MEASURES, NOTHING)
    for path, value in (
        ("measured.unseen", unseen),
        ("loss", -0.5),
        ("loss", 1),
        ("tokens_seen", [1]),
        ("measured.seen.swap_accuracy_by_place", a_share()),
    ):
        assert import_run(zipped(with_line(files, 1, changed(line, path, value))))
    result = changed(files["result.json"], "unseen", unseen)
    environment = changed(files["environment.json"], "cores", 2)
    run = import_run(zipped(files | {"result.json": result, "environment.json": environment}))
    assert run.result["unseen"] == unseen


def a_safetensors(header: bytes, data: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + data


@pytest.mark.parametrize("name", ["weights.safetensors", "checkpoint.safetensors"])
@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (b'"F32", "shape": [1], "data_offsets": [0, 8]', "is cut short"),
        (b'"F32", "shape": [3], "data_offsets": [0, 4]', "in the archive has a damaged header"),
        (b'"pickle", "shape": [1], "data_offsets": [0, 4]', "has a damaged header"),
        (b'"F32", "shape": [1], "data_offsets": [0, 1e999]', "has a damaged header"),
    ],
)
def test_weights_that_do_not_hold_what_they_say_are_refused(files, name, entry, said):
    content = a_safetensors(b'{"a": {"dtype": ' + entry + b"}}", b"1234")
    refused(zipped(files | {name: content}), f"{name} {said}|{name} .* {said}")


@pytest.mark.parametrize(
    "metadata",
    ["{}", '{"step": "31"}', '{"step": "-1"}', '{"step": "x"}', '{"step": "' + "9" * 5000 + '"}'],
)
def test_a_checkpoint_that_is_not_of_one_of_the_runs_steps_is_refused(files, metadata):
    content = a_safetensors(b'{"__metadata__": ' + metadata.encode() + b"}")
    refused(zipped(files | {"checkpoint.safetensors": content}), "doesn't say at which")


PICTURE_FAULTS = {
    "config: no JSON": ("open_clip_config.json", b"{", "open_clip_config.json is not valid JSON"),
    "config: code": (
        "open_clip_config.json",
        ("model_cfg.text_cfg.hf_model_name", "evil/repo"),
        "another hub",
    ),
    "merges: no gzip": ("bpe.txt.gz", b"a b", "bpe.txt.gz in the archive is damaged"),
    "merges: cut": ("bpe.txt.gz", gzip.compress(b"a b")[:-9], "bpe.txt.gz in the archive is dam"),
    "merges: bits": ("bpe.txt.gz", gzip.compress(b"a b")[:10] + b"\xff" * 20, "is damaged"),
    "merges: no UTF-8": ("bpe.txt.gz", gzip.compress(b"\xff"), "bpe.txt.gz in the archive is not"),
    "merges: bomb": ("bpe.txt.gz", gzip.compress(bytes(10_000_001)), "unpacks to more than 9.5 MB"),
    "card: no JSON": ("card.json", b"{", "card.json in the archive can't be used"),
    "card: no name": ("card.json", ("name", ...), "“name”: Field required"),
    "card: figures": ("card.json", ("figures", {"seen": {"n": 1}}), "“figures.seen.model”"),
    "weights: empty": ("open_clip_model.safetensors", b"", "open_clip_model.safetensors is not"),
}


@pytest.mark.parametrize("fault", PICTURE_FAULTS)
def test_each_file_of_a_picture_run_that_is_not_what_it_should_be_is_named(fault):
    content = picture_files()
    name, what, said = PICTURE_FAULTS[fault]
    if isinstance(what, tuple):
        what = changed(content[name], *what)
    with pytest.raises(UserError) as caught:
        import_run(zipped(content | {name: what}))
    assert ".importing" not in str(caught.value)
    refused(zipped(content | {name: what}), said)


def test_a_bomb_of_merges_is_not_unpacked(monkeypatch):
    asked = []
    read = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda self, n=-1: asked.append(n) or read(self, n))
    refused(
        zipped(picture_files() | {"bpe.txt.gz": gzip.compress(bytes(2 * 10**7))}),
        "bpe.txt.gz in the archive unpacks to more than",
    )
    assert asked == [10_000_001]


# Disks


def test_a_folder_that_can_not_be_written_is_named(done, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("CBE_DATA_DIR", str(blocked))
    with pytest.raises(UserError, match=r"can't be kept in .* Nothing was imported"):
        import_run(export_run(done))


@pytest.mark.parametrize("file", [*range(6), "the last step"])
def test_a_disk_that_fills_up_leaves_nothing_behind(done, file, monkeypatch):
    content, written = export_run(done), []
    assert len(unzipped(content)) == 6
    write, rename = archive.write_atomically, Path.rename

    def write_until(path: Path, content: bytes) -> None:
        if len(written) == file:
            raise OSError(28, "No space left on device")
        written.append(path)
        write(path, content)

    def rename_not(path: Path, target: Path) -> Path:
        if file == "the last step" and path.name.startswith(".importing-"):
            raise OSError(28, "No space left on device")
        return rename(path, target)

    create_run(TINY)
    before = everything()
    monkeypatch.setattr(archive, "write_atomically", write_until)
    monkeypatch.setattr(Path, "rename", rename_not)
    with pytest.raises(UserError, match=r"No space left on device\. Nothing was imported"):
        import_run(content)
    assert everything() == before
    assert len(written) == (6 if file == "the last step" else file)


def test_no_half_of_a_run_is_ever_listed(done, monkeypatch):
    content, seen = export_run(done), []
    write = archive.write_atomically
    monkeypatch.setattr(
        archive, "write_atomically", lambda *a: (write(*a), seen.append(list_runs()))
    )
    run = import_run(content)
    assert seen == [[]] * 6
    assert list_runs() == [run]


# Whatever else there may be


@cache
def a_small_archive() -> bytes:
    """Of a run that was not begun; cheap to unpack again and again."""
    measured = {part: dict.fromkeys(MEASURES, a_share()) for part in PARTS} | {"panel": [[1.0]]}
    line = {"step": 5, "loss": 1.0, "steps_per_second": 9.0, "measured": measured}
    return zipped(
        {
            "config.json": TINY.model_dump_json().encode(),
            "metrics.jsonl": json.dumps(line).encode() + b"\n",
            "weights.safetensors": a_safetensors(b"{}"),
        }
    )


def taken_or_refused(content: bytes) -> Run | None:
    """UserError and nothing else; then there is nothing new."""
    before = everything()
    try:
        return import_run(content)
    except UserError:
        assert everything() == before
        return None


def test_the_small_archive_is_one():
    assert import_run(a_small_archive()).step == 5


@given(st.binary(max_size=2000))
def test_no_bytes_break_the_reader(content):
    assert taken_or_refused(content) is None
    assert taken_or_refused(b"PK\x05\x06" + content) is None


@given(st.data())
def test_no_cut_breaks_the_reader(data):
    content = a_small_archive()
    assert taken_or_refused(content[: data.draw(st.integers(0, len(content) - 1))]) is None


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_changed_bytes_break_the_reader(data):
    content = bytearray(a_small_archive())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    if run := taken_or_refused(bytes(content)):  # in a time stamp, for instance
        assert run.config == TINY


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
LIKELY = st.sampled_from([0, 1, 0.5, -1, None, "1", [], [0.0, 1.0], {}, a_share(), NOTHING])


@settings(deadline=None)
@given(
    name=st.sampled_from(list(FILES)), content=st.binary() | JSON.map(json.dumps).map(str.encode)
)
def test_no_content_of_a_file_breaks_the_reader(name, content):
    taken_or_refused(zipped(unzipped(a_small_archive()) | {name: content}))


def places(tree: object, path: tuple = ()) -> list[tuple]:
    """The ways to everything inside a JSON value."""
    inner = ()
    if isinstance(tree, dict | list):
        inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return [path, *(way for key, value in inner for way in places(value, (*path, key)))]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_is_taken_breaks_no_reader(data):
    """Somewhere in a line stands something else; then it is refused, or the charts can be drawn."""
    content = unzipped(a_small_archive())
    line = json.loads(content["metrics.jsonl"])
    for _ in range(data.draw(st.integers(1, 2))):
        way = data.draw(st.sampled_from(places(line)[1:]))
        place = line
        for key in way[:-1]:
            place = place[key]
        place[way[-1]] = deepcopy(data.draw(LIKELY | JSON))
    run = taken_or_refused(zipped(content | {"metrics.jsonl": json.dumps(line).encode() + b"\n"}))
    if not run:
        return
    loss_curve(run.metrics, steps=30).to_dict()
    lines = measured_lines(run.metrics)
    if lines:
        for chart in curves(lines, steps=30).values():
            chart.to_dict()
        for found in lines:  # as the page says them
            assert all(f"{found[measure]:.2f}" for measure in MEASURES)
    for found in run.metrics:
        if "measured" in found:
            panel_chart(found["measured"]["panel"]).to_dict()


def test_a_checksum_says_nothing_of_who_made_it(files):
    """A file that lies about its size with a fitting checksum is cut there, and then refused."""
    content = zipped(files | {"note.txt": b"\xc3\xa4" * 500})
    content = patched(content, "note.txt", field="size", value=501)
    content = patched(content, "note.txt", field="crc", value=zlib.crc32((b"\xc3\xa4" * 500)[:501]))
    refused(content, "note.txt in the archive is not text")
