"""Views of the map with a name, kept on this machine; each is a link."""

from __future__ import annotations

from html import escape
from urllib.parse import urlencode

import streamlit as st

from binding_core.errors import UserError
from binding_core.geometry.map_views import delete_view, keep_view, list_views
from pages._shared.chrome import notice


def named_views() -> None:
    """The kept views, and keeping this one: all that the page's address holds."""
    if text := st.session_state.pop("views_notice", ""):
        notice(text)
    with st.expander("Views with a name", icon=":material/bookmark:"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input("Name of this view", key="view_name", max_chars=80, width=320)
            st.button("Keep it", on_click=_keep, args=(st.query_params.to_dict(),))
        try:
            views = list_views()
        except UserError as error:
            notice(str(error))
            return
        for view in views:
            with st.container(horizontal=True, vertical_alignment="center"):
                address = escape(f"map?{urlencode(view.parameters)}")
                st.html(f'<a href="{address}" target="_self">{escape(view.name)}</a>')
                st.button("Delete", on_click=_delete, args=(view.name,), key=f"no {view.name}")


def _keep(parameters: dict[str, str]) -> None:
    _try(lambda: keep_view(st.session_state.view_name, parameters))


def _delete(name: str) -> None:
    _try(lambda: delete_view(name))


def _try(action) -> None:  # noqa: ANN001
    try:
        action()
    except UserError as error:
        st.session_state.views_notice = str(error)
