"""A run's curves as altair charts, which grow without losing zoom."""

from __future__ import annotations

import altair as alt

PARTS = ("seen", "unseen")
MEASURES = {
    "object_recognition": "Object recognition",
    "swap_accuracy": "Swap accuracy",
    "concept_recognition": "Concept recognition",
    # Only where captions tell places.
    "swap_accuracy_by_place": "Swap accuracy, words in the order of places: the leak",
}
HEIGHT = 250  # pixels, title and axes included
MAIN_HEIGHT = 320
LINE = "#3b76af"
# Okabe and Ito's palette, which colour-blind people tell apart; its gray for the last.
RUN_COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7f7f7f",
)  # fmt: skip


def measured_lines(metrics: list[dict]) -> list[dict]:
    """The measured points of a metrics stream: step, part, and one value a measure."""
    points = []
    for line in metrics:
        for part in PARTS if "measured" in line else ():
            shares = {m: s for m in MEASURES if (s := line["measured"][part].get(m))}
            if shares["object_recognition"]["value"] is None:
                continue
            points.append(
                {
                    "step": line["step"],
                    "part": part,
                    **{measure: share["value"] for measure, share in shares.items()},
                    **{f"{measure} chance": share["chance"] for measure, share in shares.items()},
                }
            )
    return points


def curves(lines: list[dict], *, steps: int) -> dict[str, alt.LayerChart]:
    """One chart a measure: seen solid, unseen dashed, chance a dotted rule with its value."""
    charts = {}
    for measure, title in MEASURES.items():
        if measure not in lines[0]:
            continue
        chance = lines[0][f"{measure} chance"]
        rows = [{"step": r["step"], "part": r["part"], "value": r[measure]} for r in lines]
        base = alt.Chart(alt.Data(values=rows))
        x = alt.X("step:Q", title="step", scale=alt.Scale(domain=[0, steps]))
        y = alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1]))
        dash = alt.StrokeDash(
            "part:N",
            title=None,
            scale=alt.Scale(domain=list(PARTS), range=[[1, 0], [5, 4]]),
            legend=alt.Legend(orient="top") if measure == "object_recognition" else None,
        )
        line = base.mark_line(color=LINE, strokeWidth=2.2).encode(x, y, dash)
        points = base.mark_point(color=LINE, filled=True, size=18).encode(
            x,
            y,
            tooltip=[
                alt.Tooltip("part:N"),
                alt.Tooltip("step:Q"),
                alt.Tooltip("value:Q", format=".2f"),
            ],
        )
        marked = alt.Chart(alt.Data(values=[{"chance": chance, "said": _chance_said(chance)}]))
        rule = marked.mark_rule(strokeDash=[1, 3], color="gray").encode(y="chance:Q")
        text = marked.mark_text(align="left", dx=4, dy=-7, color="gray").encode(
            x=alt.value(0), y="chance:Q", text="said:N"
        )
        height = MAIN_HEIGHT if measure == "object_recognition" else HEIGHT
        charts[measure] = (rule + text + line + points).properties(title=title, height=height)
    return charts


def _chance_said(chance: float) -> str:
    return f"chance {chance:.2f}" if chance >= 0.01 else "chance below 0.01"


def overlay(runs: dict[str, list[dict]], *, measure: str) -> alt.Chart | None:
    """Several runs' curves of one measure, by their metrics; None when none is measured yet.

    A colour a run; seen solid, unseen dashed.
    """
    rows = [
        {"run": name, "step": r["step"], "part": r["part"], "value": r[measure]}
        for name, metrics in runs.items()
        for r in measured_lines(metrics)
    ]
    if not rows:
        return None
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2.2, point=alt.OverlayMarkDef(size=16))
        .encode(
            alt.X("step:Q", title="step"),
            alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1])),
            alt.Color(
                "run:N",
                title=None,
                sort=list(runs),
                scale=alt.Scale(domain=list(runs), range=list(RUN_COLOURS[: len(runs)])),
                legend=alt.Legend(orient="bottom", columns=2, labelLimit=420),
            ),
            alt.StrokeDash(
                "part:N",
                title=None,
                scale=alt.Scale(domain=list(PARTS), range=[[1, 0], [5, 4]]),
                legend=alt.Legend(orient="top"),
            ),
            tooltip=[
                alt.Tooltip("run:N"),
                alt.Tooltip("part:N"),
                alt.Tooltip("step:Q"),
                alt.Tooltip("value:Q", format=".2f"),
            ],
        )
        .properties(title=MEASURES[measure], height=MAIN_HEIGHT)
    )


def loss_curve(metrics: list[dict], *, steps: int) -> alt.Chart:
    """The training loss on a logarithmic axis."""
    rows = [{"step": line["step"], "loss": max(line["loss"], 1e-6)} for line in metrics]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(color=LINE)
        .encode(
            alt.X("step:Q", title="step", scale=alt.Scale(domain=[0, steps])),
            alt.Y("loss:Q", title=None, scale=alt.Scale(type="log")),
            tooltip=[alt.Tooltip("step:Q"), alt.Tooltip("loss:Q", format=".3f")],
        )
        .properties(title="Training loss", height=MAIN_HEIGHT)
    )


def panel_chart(panel: list[list[float]]) -> alt.Chart:
    """Single objects (rows) against queries (columns): seen objects first, then unseen ones."""
    names = [_name(i, len(panel)) for i in range(len(panel))]
    rows = [
        {"scene": names[i], "query": names[j], "similarity": value}
        for i, row in enumerate(panel)
        for j, value in enumerate(row)
    ]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect()
        .encode(
            alt.X("query:N", sort=names, title="query"),
            alt.Y("scene:N", sort=names, title="object"),
            alt.Color(
                "similarity:Q",
                title="cosine",
                scale=alt.Scale(scheme="viridis", domain=[-0.2, 1], clamp=True),
            ),
            tooltip=["scene:N", "query:N", alt.Tooltip("similarity:Q", format=".2f")],
        )
        .properties(title="Do objects find their own queries?", height=MAIN_HEIGHT)
    )


def _name(index: int, size: int) -> str:
    half = (size + 1) // 2
    return f"seen {index + 1}" if index < half else f"unseen {index - half + 1}"
