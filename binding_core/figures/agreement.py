"""Agreement of pictures and captions as figures and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from binding_core.agreement.measures import Share
from binding_core.alignment.heat_map import bags_of_scenes, bindings_a_bag
from binding_core.alignment.mending import PAPER, Mending
from binding_core.alignment.report import AgreementReport
from binding_core.captions import caption
from binding_core.figures.maps import GREY, PALETTE

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEAT_SIZE = 470  # pixels a side
HEAT_CELLS = 370  # of these for the cells
DASHES = ("solid", "dash", "dot", "dashdot")
BINS = 40

Row = dict[str, str]


def heat_figure(
    report: AgreementReport, *, n_objects: int, template: str = "plotly_white"
) -> go.Figure:
    """Pictures (rows) by captions (columns), bag after bag; ``customdata`` is (row, column).

    A frame is a bag of concepts. Binding shows as a diagonal in each frame, a bag as a full one.
    """
    import plotly.graph_objects as go

    cosines = np.array(report.heat[n_objects])
    told = [caption(scene) for scene in bags_of_scenes(n_objects)]
    n, block = len(cosines), bindings_a_bag(n_objects)
    rows, columns = (index.ravel() for index in np.indices(cosines.shape))
    figure = go.Figure(
        go.Scatter(
            x=columns,
            y=rows,
            mode="markers",
            marker={
                "symbol": "square",
                "size": HEAT_CELLS / n,
                "color": cosines.ravel(),
                "colorscale": "Viridis",
                "line": {"width": 0},
                "colorbar": {"title": "cosine", "thickness": 12, "len": 0.9},
            },
            customdata=[[int(r), int(c)] for r, c in zip(rows, columns, strict=True)],
            text=[
                f"picture: {told[r]}<br>caption: {told[c]}<br>cosine {cosines[r, c]:.2f}"
                for r, c in zip(rows, columns, strict=True)
            ],
            hoverinfo="text",
            # What is chosen is told beside the figure; the other cells stay as they are.
            unselected={"marker": {"opacity": 1}},
        )
    )
    for start in range(0, n, block):
        ends = (start - 0.5, start + block - 0.5)
        figure.add_shape(
            type="rect", x0=ends[0], x1=ends[1], y0=ends[0], y1=ends[1], line={"width": 1.5}
        )
    axis = {"showticklabels": False, "showgrid": False, "zeroline": False, "range": (-0.6, n - 0.4)}
    figure.update_layout(
        template=template,
        width=HEAT_SIZE,
        height=HEAT_SIZE - 30,
        margin={"l": 30, "r": 10, "t": 10, "b": 30},
        xaxis=axis | {"title": "captions"},
        yaxis=axis | {"title": "pictures", "range": (n - 0.4, -0.6)},
        uirevision="kept",
    )
    return figure


def margin_figure(
    reports: Sequence[AgreementReport],
    *,
    names: Mapping[str, str],
    template: str = "plotly_white",
) -> go.Figure:
    """How often each margin occurs, one line a model; right of 0 the true caption wins."""
    import plotly.graph_objects as go

    every = np.concatenate([report.margins for report in reports])
    width = float(np.abs(every).max()) or 1.0
    edges = np.linspace(-width, width, BINS + 1)
    figure = go.Figure()
    for report, colour, dash in zip(reports, PALETTE, DASHES, strict=False):
        counts, _ = np.histogram(report.margins, bins=edges)
        figure.add_trace(
            go.Scatter(
                x=(edges[1:] + edges[:-1]) / 2,
                y=counts / counts.sum(),
                mode="lines",
                line={"shape": "hvh", "color": colour, "dash": dash, "width": 2},
                name=names.get(report.model, report.model),
                hovertemplate="margin %{x:.2f}: %{y:.0%} of scenes<extra></extra>",
            )
        )
    figure.add_vline(
        x=0, line={"dash": "dot", "color": GREY}, annotation_text="no margin", annotation_yshift=14
    )
    return figure.update_layout(
        template=template,
        height=300,
        margin={"l": 10, "r": 10, "t": 20, "b": 10},
        xaxis_title="similarity to the true caption minus that to the swapped one",
        yaxis={"title": "scenes", "tickformat": ".0%"},
        legend={"orientation": "h", "y": 1.12},
    )


def tension_table(reports: Sequence[AgreementReport], *, names: Mapping[str, str]) -> list[Row]:
    """The paper's tension: what each modality tells alone, and whether the two agree."""
    rows = []
    for report in reports:
        found = {row.where: row for row in report.recognition}
        swap = next(r for r in report.swaps if (r.n_objects, r.part) == (2, "all"))
        rows.append(
            {
                "model": names.get(report.model, report.model),
                "objects read in pictures (probe)": told(found["within pictures"].objects),
                "objects read in captions (probe)": told(found["within captions"].objects),
                "objects across": told(found["across"].objects),
                "swap accuracy": told(swap.accuracy),
            }
        )
    return rows


def recognition_table(report: AgreementReport) -> list[Row]:
    """Objects and concepts, across and within modalities, of one model."""
    return [
        {
            "read": row.where,
            "objects": told(row.objects, chance=True),
            "concepts": told(row.concepts, chance=True),
        }
        for row in report.recognition
    ]


def swap_table(reports: Sequence[AgreementReport], *, names: Mapping[str, str]) -> list[Row]:
    """Swap accuracy by number of objects, concept type and part; chance ½."""
    return [
        {
            "model": names.get(report.model, report.model),
            "objects a scene": str(row.n_objects),
            "exchanged": f"{row.concept}s",
        }
        | {
            other.part: told(other.accuracy)
            for other in report.swaps
            if (other.n_objects, other.concept) == (row.n_objects, row.concept)
        }
        for report in reports
        for row in report.swaps
        if row.part == "all"
    ]


def retrieval_table(reports: Sequence[AgreementReport], *, names: Mapping[str, str]) -> list[Row]:
    """Whether the top answer is right, or the swapped one."""
    return [
        {
            "model": names.get(report.model, report.model),
            "objects a scene": str(row.n_objects),
            "direction": row.direction,
            "right first": told(row.correct, chance=True),
            "swapped first": told(row.swapped_first),
        }
        for report in reports
        for row in report.retrieval
    ]


def bias_table(reports: Sequence[AgreementReport], *, names: Mapping[str, str]) -> list[Row]:
    """Word order and place, measured apart."""
    return [
        {"model": names.get(report.model, report.model)}
        | {bias.name: told(bias.share) for bias in report.biases}
        for report in reports
    ]


def mending_table(mendings: Sequence[Mending]) -> list[Row]:
    """Swap accuracy before and after each map, beside the paper's."""
    rows = [
        {"map": f"{m.method}, on {m.side}", "source": "here"}
        | {row.part: f"{told(row.before, short=True)} → {told(row.after)}" for row in m.rows}
        for m in mendings
    ]
    rows += [
        {
            "map": f"contrast, on captions ({data})",
            "source": "paper, CLIP (arXiv 2502.03566)",
            "trained scenes": "",
            "new scenes": f"{before:.2f} → {after:.2f}",
            "new objects": "not reported",
        }
        for data, (before, after) in PAPER.items()
    ]
    return rows


def told(share: Share, *, chance: bool = False, short: bool = False) -> str:
    """A share in a cell: value, interval, n."""
    if share.value is None or share.ci95 is None:
        return "not available"
    if short:
        return f"{share.value:.2f}"
    low, high = share.ci95
    by_chance = f", chance {share.chance:.1g}" if chance and share.chance is not None else ""
    return f"{share.value:.2f} [{low:.2f}, {high:.2f}], n = {share.n:,}{by_chance}"
