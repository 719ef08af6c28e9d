"""Complexity of binding functions as figures and tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from binding_core.complexity.evaluation import ComplexityRow
from binding_core.complexity.run_points import EXPLAINS, Correlation, Explains, RunPoint
from binding_core.complexity.sweep import RANK_COVERAGE, best_rows
from binding_core.figures.agreement import Row, told
from binding_core.figures.maps import GREY, PALETTE

if TYPE_CHECKING:
    import plotly.graph_objects as go

Shown = Literal["objects", "concepts", "r2_heldout"]
SHOWN: dict[Shown, str] = {
    "objects": "held-out objects recognised",
    "concepts": "concepts of held-out objects recognised",
    "r2_heldout": "held-out R²",
}
SYMBOLS = ("circle", "square", "diamond", "triangle-up")  # by number of values
FEW_SYMBOL = "circle-open"
NAMED_ABOVE = 0.03  # unseen object recognition
RANK_TICKS = (1, 4, 16, 64, 256)
# What each control must come out as: its own form.
CONTROL_FORMS = {
    "bag": "additive",
    "product": "object product",
    "global-product": "global product",
    "memoriser": "object product",
}


def _name(row: ComplexityRow) -> str:
    by_place = ", by place" if row.tables == "by place" else ""
    return f"{row.approximator}{by_place}"


def _value(row: ComplexityRow, shown: Shown) -> float | None:
    return row.r2_heldout if shown == "r2_heldout" else getattr(row, shown).value


def coverage_figure(
    rows: Sequence[ComplexityRow],
    *,
    shown: Shown,
    controls: Mapping[str, Sequence[ComplexityRow]] | None = None,
    template: str = "plotly_white",
) -> go.Figure:
    """A line an approximator over coverage: means over seeds, with the seeds' range as bars.

    Open marks have fewer than 30 test scenes. Thin dotted lines are the controls by their own form.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    lines: dict[str, list[ComplexityRow]] = defaultdict(list)
    for row in best_rows(rows):
        if _value(row, shown) is not None:
            lines[_name(row)].append(row)
    for i, (name, of_line) in enumerate(lines.items()):
        x, y, up, down, few = _means(of_line, shown)
        structural = not name.startswith(("MLP", "forest", "boosting"))
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                error_y={"array": up, "arrayminus": down, "thickness": 1},
                mode="lines+markers",
                name=name,
                line={
                    "color": PALETTE[i % len(PALETTE)],
                    "dash": "solid" if structural else "dash",
                },
                marker={"symbol": [FEW_SYMBOL if f else "circle" for f in few], "size": 8},
                hovertemplate=f"{name}<br>coverage %{{x}}: %{{y:.2f}}<extra></extra>",
            )
        )
    for kind, of_control in (controls or {}).items():
        own = [r for r in best_rows(of_control) if _name(r) == CONTROL_FORMS[kind]]
        x, y, *_ = _means([r for r in own if _value(r, shown) is not None], shown)
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="lines",
                name=f"control {kind} by {CONTROL_FORMS[kind]}",
                line={"color": GREY, "dash": "dot", "width": 1.5},
                visible="legendonly" if shown != "r2_heldout" else True,
            )
        )
    return figure.update_layout(
        template=template,
        height=430,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        xaxis_title="coverage: share of the objects fitted on",
        yaxis_title=SHOWN[shown],
        legend={"y": 0.5},
    )


def _means(
    rows: Sequence[ComplexityRow], shown: Shown
) -> tuple[list[float], list[float], list[float], list[float], list[bool]]:
    """Coverage, mean over seeds, how far the highest and lowest seed lie, and whether few."""
    by_coverage: dict[float, list[ComplexityRow]] = defaultdict(list)
    for row in rows:
        by_coverage[row.coverage].append(row)
    xs, ys, ups, downs, few = [], [], [], [], []
    for coverage in sorted(by_coverage):
        values = [_value(row, shown) for row in by_coverage[coverage]]
        mean = float(np.mean(values))
        xs.append(coverage)
        ys.append(mean)
        ups.append(max(values) - mean)
        downs.append(mean - min(values))
        few.append(any(row.few for row in by_coverage[coverage]))
    return xs, ys, ups, downs, few


def rank_figure(
    rows: Sequence[ComplexityRow],
    *,
    controls: Mapping[str, Sequence[ComplexityRow]] | None = None,
    rank: float | None = None,
    template: str = "plotly_white",
) -> go.Figure:
    """Held-out R² of the object product by rank at one coverage, beside the controls'."""
    import plotly.graph_objects as go

    figure = go.Figure()
    shown = [("this model", rows, {"color": PALETTE[0], "width": 3})]
    shown += [
        (f"control {kind}", of, {"color": GREY, "dash": dash, "width": 1.5})
        for (kind, of), dash in zip(
            (controls or {}).items(), ("solid", "dash", "dot", "dashdot"), strict=False
        )
    ]
    for name, of, line in shown:
        by_rank: dict[int, list[float]] = defaultdict(list)
        for row in of:
            shared = row.approximator == "object product" and row.tables == "shared"
            if shared and row.coverage == RANK_COVERAGE and row.r2_heldout is not None:
                by_rank[row.rank].append(row.r2_heldout)
        ranks = sorted(by_rank)
        figure.add_trace(
            go.Scatter(
                x=ranks,
                y=[float(np.mean(by_rank[r])) for r in ranks],
                mode="lines+markers",
                name=name,
                line=line,
                hovertemplate=f"{name}<br>rank %{{x}}: %{{y:.2f}}<extra></extra>",
            )
        )
    if rank:
        figure.add_vline(x=rank, line={"dash": "dot"})
    return figure.update_layout(
        template=template,
        height=320,
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        xaxis={"title": "rank: number of products", "type": "log", "tickvals": RANK_TICKS},
        yaxis_title=f"held-out R², coverage {RANK_COVERAGE:g}",
    )


def central_figure(
    points: Sequence[RunPoint],
    *,
    explains: Explains,
    own: Sequence[RunPoint] = (),
    models: Sequence[RunPoint] = (),
    template: str = "plotly_white",
) -> go.Figure:
    """Runs by what may explain them (x) and unseen object recognition (y).

    Colour is coverage, form the number of values a concept type has; stars are picture models,
    crosses the user's own runs. ``customdata`` of a shipped run is its position in ``points``.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    sizes = sorted({point.settings["data.values"] for point in points})
    for size, symbol in zip(sizes, SYMBOLS, strict=False):
        at = [
            i
            for i, p in enumerate(points)
            if p.settings["data.values"] == size and getattr(p, explains) is not None
        ]
        figure.add_trace(
            go.Scatter(
                x=[getattr(points[i], explains) for i in at],
                y=[points[i].unseen for i in at],
                mode="markers",
                name=f"{size:g} values",
                customdata=[[i] for i in at],
                marker={
                    "symbol": symbol,
                    "size": 9,
                    "color": [points[i].settings["data.coverage"] for i in at],
                    "coloraxis": "coloraxis",
                    "line": {"width": 0.5, "color": "white"},
                },
                text=[_words(points[i]) for i in at],
                hovertemplate="%{text}<br>%{x:.2f}; unseen %{y:.2f}<extra></extra>",
                unselected={"marker": {"opacity": 0.6}},
            )
        )
    for name, others, symbol in (("picture models", models, "star"), ("your runs", own, "x")):
        shown = [p for p in others if getattr(p, explains) is not None]
        if shown:
            figure.add_trace(
                go.Scatter(
                    x=[getattr(p, explains) for p in shown],
                    y=[p.unseen for p in shown],
                    mode="markers+text",
                    name=name,
                    text=[p.name for p in shown],
                    # Names of points that lie low go below, clear of those a little higher.
                    textposition=[
                        "top right" if p.unseen > NAMED_ABOVE else "bottom right" for p in shown
                    ],
                    marker={"symbol": symbol, "size": 14, "color": PALETTE[5]},
                    hovertemplate="%{text}<br>%{x:.2f}; unseen %{y:.2f}<extra></extra>",
                )
            )
    return figure.update_layout(
        template=template,
        height=460,
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        xaxis_title=EXPLAINS[explains],
        yaxis_title="unseen objects recognised by the run",
        coloraxis={"colorscale": "Viridis", "colorbar": {"title": "coverage", "thickness": 12}},
        legend={"orientation": "h", "y": 1.1},
        uirevision="kept",
    )


def _words(point: RunPoint) -> str:
    values = ", ".join(f"{k.removeprefix('data.')} {v:g}" for k, v in point.settings.items())
    return f"{values}, seed {point.seed}"


def correlation_table(found: Mapping[Explains, Correlation | None]) -> list[Row]:
    """Spearman's correlation of each explanation with unseen object recognition."""
    return [
        {
            "over the runs": EXPLAINS[explains],
            "rank correlation with unseen recognition": "not available"
            if c is None
            else f"{c.value:+.2f} [{c.ci95[0]:+.2f}, {c.ci95[1]:+.2f}], n = {c.n}",
        }
        for explains, c in found.items()
    ]


def row_table(rows: Sequence[ComplexityRow], *, coverage: float) -> list[Row]:
    """All approximators at one coverage, one seed a row."""
    return [
        {
            "approximator": _name(row),
            "seed": str(row.seed),
            "rank": "" if row.rank is None else str(row.rank),
            "R² fitted": _number(row.r2_fitted),
            "R² held out": _number(row.r2_heldout)
            + (
                f" [{row.r2_heldout_ci95[0]:.2f}, {row.r2_heldout_ci95[1]:.2f}]"
                if row.r2_heldout_ci95
                else ""
            ),
            "objects": told(row.objects),
            "concepts": told(row.concepts),
            "note": "fewer than 30 test scenes" if row.few else "",
        }
        for row in best_rows(rows)
        if row.coverage == coverage
    ]


def control_table(controls: Mapping[str, Sequence[ComplexityRow]]) -> list[Row]:
    """Held-out R² of each form on each control, over seeds: its own form must be the one."""
    rows = []
    for kind, of in controls.items():
        best = [r for r in best_rows(of) if r.coverage == RANK_COVERAGE]
        row = {"control": kind}
        for form in ("additive", "object product", "global product"):
            values = [r.r2_heldout for r in best if _name(r) == form and r.r2_heldout is not None]
            row[form] = f"{np.mean(values):.2f}" if values else "not available"
        rows.append(row)
    return rows


def _number(value: float | None) -> str:
    return "not available" if value is None else f"{value:.2f}"
