"""Choosing the settings of a run, and starting it."""

from __future__ import annotations

import streamlit as st

from binding_core.errors import UserError
from binding_core.training.presets import RUN_PRESETS
from binding_core.training.queue import WorkQueue, run_work
from binding_core.training.runs import Run, create_run
from pages._shared.chrome import notice
from pages._train.fields import settings_form
from pages._train.speed import expected_time


def work_queue() -> WorkQueue:
    """The process's one queue, unless the session brings its own, as a test does."""
    return st.session_state.get("work_queue") or _shared_queue()


@st.cache_resource
def _shared_queue() -> WorkQueue:
    return WorkQueue()


def session_id() -> str:
    """A name for this session, by which its trainings in the queue are counted."""
    return st.session_state.setdefault("session", f"session {id(st.session_state)}")


def launch() -> None:
    """The preset, its settings, and the button that starts a run."""
    name = st.selectbox(
        "Start from",
        list(RUN_PRESETS),
        key="preset",
        bind="query-params",
        persist_state="session",
    )
    preset = RUN_PRESETS[name]
    st.markdown(f"**{preset.expect}** {preset.why}")
    expected_time(name)
    with st.form(f"settings of {name}", border=False):
        begun = st.form_submit_button("Train", type="primary", icon=":material/play_arrow:")
        settings = settings_form(name, preset.config)
    if begun:
        try:
            config = preset.config.changed(settings)
            if config != preset.config:
                config = config.model_copy(update={"name": f"{name}, changed"})
            start(create_run(config))
        except UserError as error:
            notice(str(error))


def start(run: Run, *, finish: bool = False) -> None:
    """Queue a run, new or interrupted, and watch it; UserError when that can't be.

    ``finish`` measures it as it is instead of training on.
    """
    work_queue().submit(run_work(run, finish=finish), session=session_id())
    st.session_state.watched = run.id
