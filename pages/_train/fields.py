"""Widgets for the settings of a run, made from their types."""

from __future__ import annotations

from typing import Any

import streamlit as st

from binding_core.training.run_config import PictureRunConfig, TokenRunConfig
from binding_core.training.setting_fields import SettingField, setting_fields
from pages._train.wording import CHOICES, LABELS

# What a first look is about; everything else is folded.
FIRST = {
    "tokens": ("data.coverage", "data.types", "data.values", "data.objects", "training.seed"),
    "pictures": (
        "data.coverage",
        "data.colours",
        "data.shapes",
        "data.captions",
        "training.seed",
    ),
}
SECTIONS = {
    "data": "Scenes and captions",
    "network": "Network",
    "loss": "Loss",
    "training": "Optimizer",
}
LARGEST_SEED = 2**53 - 1  # what a browser's numbers hold exactly


def settings_of(config: TokenRunConfig | PictureRunConfig) -> dict[str, tuple[SettingField, Any]]:
    """Every setting of a run by its name, such as ``data.coverage``, with its value."""
    found = {}
    for section in SECTIONS:
        if values := getattr(config, section, None):
            for name, field in setting_fields(type(values)).items():
                found[f"{section}.{name}"] = field, getattr(values, name)
    return found


def settings_form(preset: str, config: TokenRunConfig | PictureRunConfig) -> dict[str, Any]:
    """All settings as widgets, those of the first look before the others; their values."""
    settings, first = settings_of(config), FIRST[config.world]
    chosen = {first[0]: _widget(preset, first[0], *settings[first[0]])}
    columns = st.columns(2)
    for i, name in enumerate(first[1:]):
        with columns[i % 2]:
            chosen[name] = _widget(preset, name, *settings[name])
    for section, title in SECTIONS.items():
        folded = [n for n in settings if n.startswith(f"{section}.") and n not in first]
        if folded:
            with st.expander(title):
                chosen |= {name: _widget(preset, name, *settings[name]) for name in folded}
    return chosen


def _widget(preset: str, name: str, field: SettingField, value: Any) -> Any:
    label, text = LABELS[name]
    common = {"label": label, "help": text or None, "key": f"{preset} {name}"}
    if field.kind is bool:
        return st.checkbox(value=value, **common)
    if field.choices:
        names = CHOICES[name]
        return st.selectbox(
            options=field.choices,
            index=field.choices.index(value),
            format_func=names.get,
            **common,
        )
    if field.kind is int:
        highest = LARGEST_SEED if field.highest is None else int(field.highest)
        step = field.multiple_of or 1
        return st.number_input(
            min_value=int(field.lowest or 0), max_value=highest, value=value, step=step, **common
        )
    if name.startswith("data."):  # shares
        lowest = 0.05 if name == "data.coverage" else 0.0
        return st.slider(min_value=lowest, max_value=1.0, value=value, step=0.05, **common)
    return st.number_input(
        min_value=float(field.lowest or 0),
        max_value=None if field.highest is None else float(field.highest),
        value=value,
        format="%.5g",
        step=value / 10 or 0.1,
        **common,
    )
