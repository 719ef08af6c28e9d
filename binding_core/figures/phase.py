"""The phase diagram: where binding begins, over two settings."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from binding_core.training.phases import PhaseCell

HEIGHT = 320  # pixels


def phase_diagram(
    cells: Sequence[PhaseCell],
    *,
    own: Sequence[PhaseCell] = (),
    x: str,
    y: str,
    measure: str,
) -> alt.LayerChart:
    """Mean shares as shades with their numbers; ``own`` runs as circles in the same shades.

    ``x`` and ``y`` name the axes, ``measure`` the shares; every axis value has a place of its own.
    """
    shade = alt.Color(
        "mean:Q",
        title=measure,
        scale=alt.Scale(scheme="viridis", domain=[0, 1]),
        legend=alt.Legend(orient="right", gradientLength=160),
    )
    columns = sorted({cell.x for cell in (*cells, *own)})
    rows = sorted({cell.y for cell in (*cells, *own)}, reverse=True)
    places = (
        alt.X("x:O", title=x, sort=columns, axis=alt.Axis(labelAngle=0)),
        alt.Y("y:O", title=y, sort=rows),
    )
    tips = [
        alt.Tooltip("x:O", title=x),
        alt.Tooltip("y:O", title=y),
        alt.Tooltip("mean:Q", title=measure, format=".2f"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("n:Q", title="runs"),
    ]
    swept = alt.Chart(alt.Data(values=[_row(cell) for cell in cells]))
    squares = swept.mark_rect().encode(*places, shade, tooltip=tips)
    # The shades run from dark to light: the number stands out against either.
    ink = alt.condition("datum.mean > 0.55", alt.value("#111111"), alt.value("#ffffff"))
    numbers = swept.mark_text(fontSize=12).encode(
        *places, text=alt.Text("mean:Q", format=".2f"), color=ink
    )
    circles = (
        alt.Chart(alt.Data(values=[_row(cell) for cell in own]))
        .mark_circle(size=520, stroke="white", strokeWidth=2.5, opacity=1)
        .encode(*places, shade, tooltip=tips)
    )
    return (squares + numbers + circles).properties(height=HEIGHT)


def _row(cell: PhaseCell) -> dict:
    low, high = cell.ci95 or (None, None)
    interval = "one run only" if low is None else f"{low:.2f} to {high:.2f}"
    return {"x": cell.x, "y": cell.y, "mean": cell.mean, "interval": interval, "n": cell.n}
