"""The baseline: a Streamlit page with one line."""

import streamlit as st

st.write("empty")
