"""Navigation and page chrome; everything else is in pages/ and binding_core/."""

import streamlit as st

from pages._shared.chrome import navigated
from pages._shared.encoders import start_warm_up

st.set_page_config(
    page_title="Concept Binding Explorer",
    page_icon="assets/icon.png",
    layout="wide",
)
page = st.navigation(
    [
        st.Page("pages/start.py", title="Start", icon=":material/school:"),
        st.Page("pages/compose.py", title="Compose", icon=":material/dashboard:", default=True),
        st.Page("pages/map.py", title="Map", icon=":material/scatter_plot:"),
        st.Page("pages/components.py", title="Components", icon=":material/stacked_bar_chart:"),
        st.Page("pages/agreement.py", title="Agreement", icon=":material/compare_arrows:"),
        st.Page("pages/complexity.py", title="Complexity", icon=":material/function:"),
        st.Page("pages/train.py", title="Train", icon=":material/model_training:"),
        st.Page("pages/models.py", title="Models", icon=":material/deployed_code:"),
    ],
    position="top",
)
navigated()
page.run()
start_warm_up()  # last, so that the first page does not wait for it
