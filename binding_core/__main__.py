"""``python -m binding_core``: the same work without a browser."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from threading import Event, Thread
from typing import NoReturn

from binding_core.errors import UserError

PARTS = ("seen", "unseen")
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message[0].upper()}{message[1:]} (see {self.prog} --help).")


def _whole(minimum: int) -> Callable[[str], int]:
    """Reads a whole number of at least ``minimum``."""

    def whole(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"a whole number from {minimum} on, not “{text}”")
        return int(text)

    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 on success, 2 with one sentence on stderr for what cannot be done."""
    parser = _Parser(prog="python -m binding_core", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)

    models = commands.add_parser("models", help="list every model the app knows")
    models.add_argument("--json", action="store_true", help="print the cards as JSON")
    models.set_defaults(run=_models)

    swap = commands.add_parser("swap", help="swap accuracy and recognition on fresh random scenes")
    swap.add_argument("--model", required=True, help="a model's id, as “models” lists it")
    swap.add_argument("--split", choices=("seen", "unseen", "all"), default="all")
    swap.add_argument(
        "--scenes", type=_whole(1), default=1000, help="how many scenes (default 1000)"
    )
    swap.add_argument("--objects", type=_whole(2), default=2, help="objects a scene (default 2)")
    swap.add_argument("--concept", choices=("colour", "shape"), default="colour")
    swap.add_argument("--seed", type=_whole(0), default=0)
    swap.add_argument("--json", action="store_true", help="print the result as JSON")
    swap.set_defaults(run=_swap)

    render = commands.add_parser("render", help="draw a scene")
    render.add_argument("scene", type=Path, help="a scene as JSON")
    render.add_argument("-o", "--output", type=Path, required=True, help="the picture to write")
    render.add_argument("--size", type=_whole(1), default=224, help="pixels a side (default 224)")
    render.set_defaults(run=_render)

    decompose = commands.add_parser("decompose", help="take embeddings apart into components")
    what = decompose.add_mutually_exclusive_group(required=True)
    what.add_argument("--model", metavar="ID", help="a model that is on this machine")
    what.add_argument("--embeddings", type=Path, metavar="NPZ", help="embeddings of your own")
    what.add_argument("--bundled", action="store_true", help="write what the app ships")
    decompose.add_argument("--labels", type=Path, metavar="CSV", help="what each embedding holds")
    decompose.add_argument("--modality", choices=["image", "text"], default="image")
    decompose.add_argument("--scenes", type=_whole(20), default=2000, help="of a model")
    decompose.add_argument("--seed", type=_whole(0), default=0)
    decompose.add_argument("--json", action="store_true", help="print the tables as JSON")
    decompose.set_defaults(run=_decompose)

    maps = commands.add_parser("map", help="project the embeddings of scenes, with a control")
    maps.add_argument("--model", metavar="ID")
    maps.add_argument("--bundled", action="store_true", help="write what the app ships")
    maps.add_argument("--sides", choices=["image", "text", "both"], default="image")
    maps.add_argument("--method", choices=["pca", "umap", "mds"], default="pca")
    maps.add_argument("--dimensions", type=int, choices=[2, 3], default=2)
    maps.add_argument("--scenes", type=_whole(10), help="a sample of so many; else the default")
    maps.add_argument("--seed", type=_whole(0), default=0)
    maps.add_argument("-o", "--output", type=Path, metavar="CSV", help="points and captions")
    maps.set_defaults(run=_map)

    agreement = commands.add_parser("agreement", help="do pictures and captions agree?")
    agreement.add_argument("--models", metavar="A,B", required=True, help="ids, as “models” lists")
    agreement.add_argument("--scenes", type=_whole(40), default=2000)
    agreement.add_argument("--seed", type=_whole(0), default=0)
    agreement.add_argument("--fresh", action="store_true", help="measure again what is kept")
    agreement.add_argument("--ship", action="store_true", help="write what the app ships")
    agreement.add_argument("--json", action="store_true", help="print all as JSON")
    agreement.set_defaults(run=_agreement)

    complexity = commands.add_parser("complexity", help="what simple form predicts new objects?")
    complexity.add_argument("--model", metavar="ID", required=True)
    complexity.add_argument("--modality", choices=["image", "text"], default="image")
    complexity.add_argument("--coverages", metavar="A,B", help="default .9 to .1")
    complexity.add_argument("--seeds", metavar="A,B", help="default 0, 1, 2")
    complexity.add_argument("--forms-only", action="store_true", help="no networks, no forest")
    complexity.add_argument("--kept", action="store_true", help="what is known, nothing measured")
    complexity.add_argument("--json", action="store_true", help="print all rows as JSON")
    complexity.set_defaults(run=_complexity)

    document = commands.add_parser("report", help="agreement of models as one HTML document")
    document.add_argument("--models", metavar="A,B", required=True)
    document.add_argument("-o", "--output", type=Path, required=True)
    document.set_defaults(run=_report)

    bundle = commands.add_parser("bundle", help="train the bundled models anew (under 90 minutes)")
    bundle.add_argument("--out", type=Path, help="folder for the models (default assets/models)")
    bundle.add_argument("--only", nargs="+", help="ids of the models to train (default all)")
    bundle.add_argument("--steps", type=_whole(1), help="training steps, for a trial")
    bundle.add_argument(
        "--workers", type=_whole(1), default=2, help="models trained at once (default 2)"
    )
    bundle.set_defaults(run=_bundle)

    train = commands.add_parser("train", help="train a run from scratch")
    what = train.add_mutually_exclusive_group(required=True)
    what.add_argument("--preset", help="the settings to start from, by name")
    what.add_argument("--resume", type=Path, help="the folder of a run to go on with")
    train.add_argument(
        "--set", nargs="+", default=[], metavar="KEY=VALUE", help="as in data.coverage=0.5"
    )
    train.add_argument("--out", type=Path, help="folder for the new run (default: the app's own)")
    train.add_argument(
        "--finish", action="store_true", help="measure an interrupted run as it is, and end it"
    )
    train.add_argument("--json", action="store_true", help="print the metrics as JSON lines")
    # For the app: stop with a checkpoint when the standard input ends, as it does with the app.
    train.add_argument("--guarded", action="store_true", help=argparse.SUPPRESS)
    train.set_defaults(run=_train)

    speed = commands.add_parser("speed", help="how long each preset trains on this machine")
    speed.add_argument("--json", action="store_true", help="print it as JSON lines")
    speed.set_defaults(run=_speed)

    sweep = commands.add_parser("sweep", help="train the same run with other settings and seeds")
    sweep.add_argument("--config", type=Path, required=True, help="the sweep as JSON")
    sweep.add_argument("--out", type=Path, help="its folder; one begun earlier is gone on with")
    where = sweep.add_mutually_exclusive_group()
    where.add_argument("--workers", type=_whole(1), help="processes (default: one a core)")
    where.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster to use")
    sweep.add_argument("--json", action="store_true", help="print the results as JSON lines")
    sweep.add_argument("--guarded", action="store_true", help=argparse.SUPPRESS)
    sweep.set_defaults(run=_sweep)

    runs = commands.add_parser("runs", help="list the runs that were begun in the app or without")
    runs.add_argument("--json", action="store_true", help="print them as JSON")
    runs.set_defaults(run=_runs)

    try:
        options = parser.parse_args(arguments)
        return options.run(options)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
    except OSError as error:
        sys.stderr.write(f"{error.filename or 'A file'}: {error.strerror or error}.\n")
    return 2


def _models(options: argparse.Namespace) -> int:
    from binding_core.encoders import available

    cards = available()
    if options.json:
        print(json.dumps([card.model_dump() for card in cards], indent=1))
        return 0
    for card in cards:
        here = "here" if card.path or card.kind == "control" else "not downloaded"
        print(f"{card.id:22} {card.kind:8} {here:15} {card.summary}")
    return 0


def _swap(options: argparse.Namespace) -> int:
    from binding_core.agreement.swap_test import swap_scenes, swap_test
    from binding_core.encoders import card, load

    known = card(options.model)
    allowed = {"seen": known.train_objects, "unseen": known.heldout_objects, "all": None}
    if options.split != "all" and not allowed[options.split]:
        raise UserError(
            f"It is not known which objects “{options.model}” has seen, so only --split all works."
        )
    report = swap_test(
        load(options.model),
        scenes=list(
            swap_scenes(
                n=options.scenes,
                seed=options.seed,
                n_objects=options.objects,
                concept=options.concept,
                allowed=allowed[options.split],
            )
        ),
        seed=options.seed,
        concept=options.concept,
    )
    if not options.json:
        print(f"swap accuracy        {report.swap_accuracy}")
        print(f"object recognition   {report.object_recognition}")
        print(f"concept recognition  {report.concept_recognition}")
        print(f"  within each type   {report.concept_recognition_per_type}")
        return 0
    print(
        json.dumps(
            {
                "swap_accuracy": report.swap_accuracy.value,
                "ci95": report.swap_accuracy.ci95,
                "n": report.swap_accuracy.n,
                "object_recognition": report.object_recognition.value,
                "concept_recognition": report.concept_recognition.value,
                "split": options.split,
                "report": report.model_dump(),
            },
            indent=1,
        )
    )
    return 0


def _render(options: argparse.Namespace) -> int:
    from binding_core.render import render
    from binding_core.scenes import parse_scene

    scene = parse_scene(options.scene.read_bytes())
    if options.output.suffix.lower() not in PICTURE_ENDINGS:
        raise UserError(f"The picture's ending must be one of {', '.join(PICTURE_ENDINGS)}.")
    render(scene, size=options.size).save(options.output)
    return 0


def _decompose(options: argparse.Namespace) -> int:
    from binding_core.encoders import BUNDLED_IDS, card, load
    from binding_core.geometry.component_store import SHIPPED, take_model_apart
    from binding_core.geometry.own_embeddings import read_own_embeddings
    from binding_core.geometry.report import model_report, table_json, table_report

    if options.bundled:
        for model_id in BUNDLED_IDS:
            take_model_apart(load(model_id), card=card(model_id), with_twin=True, folder=SHIPPED)
        return 0
    if options.embeddings:
        if not options.labels:
            raise UserError("Embeddings of your own need --labels, which say what each holds.")
        table = read_own_embeddings(
            options.embeddings.read_bytes(),
            options.labels.read_bytes(),
            name=options.embeddings.name,
            modality=options.modality,
        )
        found = table_report(table, seed=options.seed)
    else:
        known = card(options.model)
        report, _ = model_report(
            load(options.model),
            train_objects=known.train_objects,
            n_scenes=options.scenes,
            seed=options.seed,
        )
        found = report.tables[options.modality]
    if options.json:
        print(table_json(found).decode())
        return 0
    print(f"{found.source}, {found.n_scenes} scenes, seed {found.seed}")
    for row in found.levels:
        what = f"{row.report.level} by {row.report.estimator}"
        print(f"{what:28} {_r2(row.report.r2_heldout)}  retrieval {row.report.retrieval}")
    for row in found.removal:
        print(f"{row.name:28} concepts {row.concepts}; objects {row.objects}")
    for name, edit in found.edits.items():
        print(f"{name:28} found {edit.found}; objects {edit.objects}")
    return 0


def _map(options: argparse.Namespace) -> int:
    from binding_core.encoders import BUNDLED_IDS, load
    from binding_core.geometry.map_export import map_csv
    from binding_core.geometry.projection import METHODS
    from binding_core.geometry.quadruple_store import DEFAULT, draw_quadruple
    from binding_core.geometry.scene_map import SHIPPED, SceneSet, draw_map

    if options.bundled:
        for encoder in map(load, BUNDLED_IDS):
            for sides in ("image", "text", "both"):
                for way in product(METHODS, (2, 3)):
                    how = dict(zip(("method", "dimensions"), way, strict=True))
                    draw_map(encoder, settings=SceneSet(sides=sides), folder=SHIPPED, **how)
            for modality in ("image", "text"):
                pairs = dict(zip(("colours", "shapes"), DEFAULT, strict=True))
                draw_quadruple(encoder, modality=modality, folder=SHIPPED, **pairs)
        return 0
    if not options.model:
        raise UserError("A map needs --model, or --bundled for those that the app ships.")
    sample = {"drawn": "sample", "n": options.scenes} if options.scenes else {}
    settings = SceneSet(sides=options.sides, seed=options.seed, **sample)
    way = {"method": options.method, "dimensions": options.dimensions}
    drawn = draw_map(load(options.model), settings=settings, **way)
    shown = drawn.projections[options.method, options.dimensions]
    print(
        f"{options.method}, {len(shown.rows)} points: trustworthiness {shown.trustworthiness}, "
        f"of random vectors {shown.control.trustworthiness if shown.control else None}"
    )
    if options.output:
        options.output.write_bytes(map_csv(drawn, **way))
    return 0


def _r2(value: float | None) -> str:
    return "R² not determined" if value is None else f"R² {value:.2f}"


def _bundle(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from binding_core.encoders import BUNDLED_IDS, MODELS
    from binding_core.training.bundle import CONFIG, bundle, precompute

    only = options.only or list(BUNDLED_IDS)
    if unknown := set(only) - set(BUNDLED_IDS):
        raise UserError(
            f"“{sorted(unknown)[0]}” is not a bundled model; {', '.join(BUNDLED_IDS)} are."
        )
    config = replace(CONFIG, steps=options.steps) if options.steps else CONFIG
    done = bundle(out=options.out or MODELS, only=only, config=config, workers=options.workers)
    if not done:
        sys.stderr.write("Interrupted; the same command goes on from the last checkpoint.\n")
        return 130
    if options.out is None:
        precompute()
    return 0


def _train(options: argparse.Namespace) -> int:
    from binding_core.training.presets import RUN_PRESETS
    from binding_core.training.runs import Run, create_run

    if options.preset:
        if options.preset not in RUN_PRESETS:
            raise UserError(f"“{options.preset}” is no preset; {', '.join(RUN_PRESETS)} are.")
        settings = {}
        for assignment in options.set:
            key, equals, value = assignment.partition("=")
            if not equals:
                raise UserError(f"“{assignment}” is not of the form KEY=VALUE.")
            settings[key] = value
        config = RUN_PRESETS[options.preset].config.changed(settings)
        run = create_run(config, folder=options.out)
    else:
        run = Run(options.resume)
        run.config  # noqa: B018  a sentence now when there is no run in the folder

    stop = Event()
    if options.guarded:
        _stop_with_the_app(stop)

    from binding_core.training.train_run import train_run
    from binding_core.training.trainer import Metrics

    def report(metrics: Metrics) -> None:
        if options.json:
            print(json.dumps(metrics.line()), flush=True)
        elif metrics.measured:
            found = {part: metrics.measured[part]["object_recognition"] for part in PARTS}
            said = "  ".join(f"{part} {found[part]['value']}" for part in PARTS)
            print(f"step {metrics.step:6}  loss {metrics.loss:.3f}  objects: {said}", flush=True)

    try:
        finished = train_run(run, stop=stop, report=report, finish=options.finish)
    except KeyboardInterrupt:
        finished = False
    if finished and options.json:
        print(json.dumps({"run": str(run.folder), "result": run.result}), flush=True)
    elif not options.guarded:
        done = "done" if finished else "stopped; go on with --resume"
        sys.stderr.write(f"{run.folder}: {done}\n")
    return 0 if finished else 130


def _speed(options: argparse.Namespace) -> int:
    from binding_core.training.presets import RUN_PRESETS
    from binding_core.training.speed import steps_per_second

    for name, preset in RUN_PRESETS.items():
        speed, steps = steps_per_second(preset.config), preset.config.training.steps
        if options.json:
            row = {"preset": name, "steps_per_second": speed, "seconds": steps / speed}
            print(json.dumps(row), flush=True)
        else:
            print(f"{name:32} {speed:6.1f} steps/s {steps / speed:6.0f} s", flush=True)
    return 0


def _sweep(options: argparse.Namespace) -> int:
    from functools import partial
    from multiprocessing import Manager

    from binding_core.training.executors import dask_executor, local_executor
    from binding_core.training.sweeps import create_sweep, parse_sweep, run_sweep, train_cell

    try:
        content = json.loads(options.config.read_text("utf-8"))
    except ValueError as error:
        raise UserError(f"{options.config} is not JSON: {error}.") from error
    sweep = create_sweep(parse_sweep(content), folder=options.out)

    def report(done: int, of: int) -> None:
        sys.stderr.write(f"{done} of {of} runs\n")
        sys.stderr.flush()

    with Manager() as manager:  # its event is one that other processes can see
        stop = manager.Event()
        if options.guarded:
            _stop_with_the_app(stop)
        if options.dask:
            how = {"executor": partial(dask_executor, options.dask)}
        else:
            how = {
                "executor": partial(local_executor, workers=options.workers),
                "work": partial(train_cell, stop=stop),
            }
        signal.signal(signal.SIGINT, lambda *_: stop.set())
        finished = run_sweep(sweep, stop=stop, report=report, **how)
    if options.json:
        for row in sweep.results.values():
            print(json.dumps(row))
    elif not options.guarded:
        sys.stderr.write(f"{sweep.folder}: {'done' if finished else 'stopped; it can go on'}\n")
    return 0 if finished else 130


def _cards_of(text: str) -> list:
    """The cards of models named with commas between; UserError names one that is not there."""
    from binding_core.encoders import card

    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UserError("--models names no model; “models” lists them.")
    return [card(name) for name in names]


def _agreement(options: argparse.Namespace) -> int:
    from binding_core.alignment.report import agreement_json, agreement_of, keep_agreement
    from binding_core.encoders import load

    found = []
    for card in _cards_of(options.models):
        measured = agreement_of(
            load(card.id),
            card=card,
            n_scenes=options.scenes,
            seed=options.seed,
            fresh=options.fresh or options.ship,
        )
        if options.ship:
            keep_agreement(measured, shipped=True)
        found.append(measured)
    if options.json:
        print(json.dumps([json.loads(agreement_json(report)) for report in found], indent=1))
        return 0
    for report in found:
        print(
            f"{report.model} {report.fingerprint}, {report.n_scenes:,} scenes, seed {report.seed}"
        )
        for row in report.swaps:
            print(f"  swap {row.concept}, {row.n_objects} objects, {row.part}: {row.accuracy}")
        for row in report.retrieval:
            print(f"  {row.direction}, {row.n_objects} objects: {row.correct}")
            print(f"    swapped first: {row.swapped_first}")
        for row in report.recognition:
            print(f"  {row.where}: objects {row.objects}; concepts {row.concepts}")
    return 0


def _complexity(options: argparse.Namespace) -> int:
    from binding_core.complexity.sweep import (
        COVERAGES,
        SEEDS,
        ComplexitySettings,
        best_rows,
        find_rows,
        measure_complexity,
        rank_of,
        rows_json,
    )
    from binding_core.encoders import load
    from binding_core.training.sweeps import parse_values

    encoder = load(options.model)
    settings = ComplexitySettings(
        options.modality,
        coverages=parse_values(options.coverages) if options.coverages else COVERAGES,
        seeds=parse_values(options.seeds) if options.seeds else SEEDS,
        regressors=not options.forms_only,
    )
    if options.kept:
        rows = find_rows(encoder.fingerprint, options.modality)
    else:
        stop = Event()
        signal.signal(signal.SIGINT, lambda *_: stop.set())
        rows = measure_complexity(encoder, settings=settings, stop=stop)
    if rows is None:
        sys.stderr.write("Stopped; what was measured is kept, and it can go on.\n")
        return 130
    if options.json:
        print(rows_json(rows).decode())
        return 0
    print(f"{encoder.id} {encoder.fingerprint}, {options.modality}; binding rank {rank_of(rows)}")
    for row in best_rows(rows):
        fit = "not available" if row.r2_heldout is None else f"{row.r2_heldout:.2f}"
        rank = "" if row.rank is None else f" rank {row.rank}"
        print(f"  coverage {row.coverage:g}, seed {row.seed}, {row.approximator}{rank}: R² {fit}")
        print(f"    objects {row.objects}; concepts {row.concepts}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from binding_core.alignment.report import agreement_of
    from binding_core.document import agreement_html
    from binding_core.encoders import load
    from binding_core.files import write_atomically

    cards = _cards_of(options.models)
    found = [agreement_of(load(card.id), card=card) for card in cards]
    content = agreement_html(found, names={card.id: card.name for card in cards})
    try:
        write_atomically(options.output, content)
    except OSError as error:
        raise UserError(f"{options.output} can't be written: {error.strerror or error}.") from error
    print(f"{options.output}: {len(content) / 1e6:.1f} MB")
    return 0


def _stop_with_the_app(stop: Event) -> None:
    def watch() -> None:
        sys.stdin.read()
        stop.set()

    Thread(target=watch, daemon=True).start()


def _runs(options: argparse.Namespace) -> int:
    from binding_core.training.runs import list_runs

    runs = list_runs()
    if options.json:
        print(json.dumps([run.summary() for run in runs], indent=1))
        return 0
    for run in runs:
        print(f"{run.id:40} {run.state:8} step {run.step} of {run.config.training.steps}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
