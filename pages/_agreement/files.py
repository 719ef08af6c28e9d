"""The reports as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from binding_core.alignment.report import AgreementReport
from binding_core.document import agreement_csv, agreement_html


def exports(reports: Sequence[AgreementReport], names: Mapping[str, str]) -> None:
    """CSV, and one HTML document with figures and provenance."""
    with st.container(horizontal=True):
        for label, name, kind, content in (
            ("Tables (CSV)", "agreement.csv", "text/csv", lambda: agreement_csv(reports)),
            (
                "Report (HTML)",
                "agreement.html",
                "text/html",
                lambda: agreement_html(reports, names=names),
            ),
        ):
            st.download_button(label, content, name, kind, on_click="ignore", key=name)
