"""Agreement of several models as one self-contained HTML document, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from html import escape

from binding_core.alignment.report import AgreementReport
from binding_core.figures.agreement import (
    Row,
    bias_table,
    heat_figure,
    margin_figure,
    recognition_table,
    retrieval_table,
    swap_table,
    tension_table,
)

COLUMNS = (
    "model", "fingerprint", "seed", "measure", "n_objects", "detail",
    "value", "low", "high", "n", "chance",
)  # fmt: skip
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-variant-numeric:tabular-nums}"
    "th,td{border-bottom:1px solid #ccc;padding:.25rem .75rem;text-align:left}"
)


def agreement_csv(reports: Sequence[AgreementReport]) -> bytes:
    """One row a measured share of each model."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for report in reports:
        measured = [
            *(("swap", r.n_objects, f"{r.concept} {r.part}", r.accuracy) for r in report.swaps),
            *(("retrieval", r.n_objects, r.direction, r.correct) for r in report.retrieval),
            *(("swap first", r.n_objects, r.direction, r.swapped_first) for r in report.retrieval),
            *(("objects", 2, r.where, r.objects) for r in report.recognition),
            *(("concepts", 2, r.where, r.concepts) for r in report.recognition),
            *(("bias", 2, bias.name, bias.share) for bias in report.biases),
        ]
        for measure, n_objects, detail, share in measured:
            of = (report.model, report.fingerprint, report.seed, measure, n_objects, detail)
            low, high = share.ci95 or (None, None)
            writer.writerow([*of, share.value, low, high, share.n, share.chance])
    return buffer.getvalue().encode()


def agreement_html(reports: Sequence[AgreementReport], *, names: Mapping[str, str]) -> bytes:
    """Figures and tables with their provenance; needs no network and no other file."""
    by = {"names": names}
    parts = [
        "<h1>Do pictures and captions agree?</h1>",
        "<p>Readable alone, disagreeing together: linear probes read objects within one modality; "
        "swap accuracy and recognition across need both to agree.</p>",
        _table(tension_table(reports, **by)),
        "<h2>Swap accuracy (chance ½)</h2>",
        _table(swap_table(reports, **by)),
        "<h2>Retrieval</h2>",
        _table(retrieval_table(reports, **by)),
        "<h2>Word order and place (no lean: ½)</h2>",
        _table(bias_table(reports, **by)),
        "<h2>Margins</h2>",
        margin_figure(reports, **by).to_html(full_html=False, include_plotlyjs=True),
    ]
    for report in reports:
        name = escape(names.get(report.model, report.model))
        parts += [f"<h2>{name}</h2>", _table(recognition_table(report))]
        for n_objects in report.heat:
            parts += [
                f"<p>Pictures by captions, {n_objects} objects a scene; a frame is a bag of "
                "concepts.</p>",
                heat_figure(report, n_objects=n_objects).to_html(
                    full_html=False, include_plotlyjs=False
                ),
            ]
        parts.append(
            f"<p>Measured on {report.n_scenes:,} scenes (seed {report.seed}), drawn at "
            f"{report.picture_size} pixels, by {escape(report.model)} "
            f"<code>{report.fingerprint}</code>. Intervals are 95 % Wilson intervals.</p>"
        )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Agreement</title>'
        f"<style>{STYLE}</style>{''.join(parts)}</html>"
    ).encode()


def _table(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(row.get(name, ''))}</td>" for name in rows[0]) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
