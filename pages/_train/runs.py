"""All runs: find some, lay their curves over each other, note, export, import, delete."""

from __future__ import annotations

from typing import Any

import streamlit as st

from binding_core.errors import UserError
from binding_core.figures.curves import overlay
from binding_core.training.archive import MAX_ARCHIVE_BYTES, export_run, import_run
from binding_core.training.leaderboard import MAX_OVERLAID, leaderboard, matching
from binding_core.training.runs import Run, delete_run, list_runs, restore_run
from pages._train.launch import work_queue
from pages._train.wording import MEASURES

COLUMNS = {
    share: st.column_config.NumberColumn(format="%.2f")
    for share in ("coverage", "seen", "unseen", "unseen swap")
}


def run_list() -> None:
    """The runs with their figures; what is chosen there can be looked at and changed."""
    runs = list_runs()
    st.subheader("Runs", divider="gray")
    _undo()
    if runs:
        shown = _filtered(runs)
        chosen = st.dataframe(
            leaderboard(shown, place=work_queue().place),
            key="chosen_runs",
            on_select="rerun",
            selection_mode="multi-row",
            hide_index=True,
            column_config=COLUMNS,
            alt="All runs with their settings and figures",
        ).selection.rows
        _chosen([shown[i] for i in chosen if i < len(shown)])
    _import()


def _filtered(runs: list[Run]) -> list[Run]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input(
            "Find runs",
            key="find_runs",
            placeholder="a word of the name or the note",
            width=320,
        )
        lowest, highest = st.slider(
            "Coverage from … to", 0.0, 1.0, (0.0, 1.0), 0.05, key="runs_coverage", width=260
        )
        worlds = st.pills(
            "World",
            ["tokens", "pictures"],
            selection_mode="multi",
            default=["tokens", "pictures"],
            key="runs_world",
        )
    return matching(runs, words=words, coverage=(lowest, highest), worlds=worlds)


def _chosen(runs: list[Run]) -> None:
    if not runs:
        st.caption("Choose one run to open, note, export or delete it; several to compare them.")
        return
    if len(runs) > 1:
        _compare(runs)
        return
    [run] = runs
    with st.container(horizontal=True):
        st.button("Show its curves", on_click=_watch, args=(run.id,))
        # Packed when it is asked for, not whenever the page is drawn.
        st.download_button(
            "Export (zip)",
            lambda: export_run(run),
            f"{run.id}.zip",
            "application/zip",
            on_click="ignore",
        )
        if work_queue().place(run.id) is None:
            st.button("Delete it", on_click=_delete, args=(run,))
    st.text_area(
        "Note", value=run.note, key=f"note {run.id}", on_change=_keep_note, args=(run,), height=80
    )


def _compare(runs: list[Run]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        measure = st.selectbox(
            "Compare", list(MEASURES)[:3], format_func=MEASURES.get, key="compared", width=260
        )
        if len(runs) > MAX_OVERLAID:
            st.caption(f"The first {MAX_OVERLAID} of {len(runs)} chosen runs are drawn.")
    chart = overlay({_named(run): run.metrics for run in runs[:MAX_OVERLAID]}, measure=measure)
    if chart is None:
        st.info("None of these runs has been measured yet.")
        return
    st.altair_chart(chart, key=f"overlay {measure}", width="stretch")


def _named(run: Run) -> str:
    config = run.config
    return f"{config.name}, coverage {config.data.coverage:g} ({run.id[-4:]})"


def _watch(run_id: str) -> None:
    st.session_state.watched = run_id


def _keep_note(run: Run) -> None:
    _try(lambda: run.write_note(st.session_state[f"note {run.id}"]))


def _delete(run: Run) -> None:
    st.session_state.deleted_run = _try(lambda: delete_run(run))
    if st.session_state.get("watched") == run.id:
        st.session_state.watched = None
    if st.query_params.get("run") == run.id:
        st.query_params.pop("run")


def _undo() -> None:
    if gone := st.session_state.get("deleted_run"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Deleted {gone.name}.")
            st.button("Bring it back", on_click=_restore)


def _restore() -> None:
    gone = st.session_state.pop("deleted_run")
    if run := _try(lambda: restore_run(gone)):
        st.session_state.watched = run.id


def _import() -> None:
    with st.expander("Import a run (zip)", icon=":material/upload:"):
        st.file_uploader(
            "A run that was exported here or elsewhere",
            type=["zip"],
            key="run_file",
            on_change=_import_file,
            max_upload_size=MAX_ARCHIVE_BYTES // 2**20,
        )


def _import_file() -> None:
    if (file := st.session_state.run_file) and (run := _try(lambda: import_run(file.getvalue()))):
        st.session_state.watched = run.id


def _try(action: Any) -> Any:
    """What an action gives; its error becomes the notice over the page, and nothing is lost."""
    try:
        return action()
    except UserError as error:
        st.session_state.train_notice = str(error)
    except OSError as error:
        st.session_state.train_notice = f"That did not work: {error.strerror or error}."
    return None
