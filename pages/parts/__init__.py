"""What several pages are drawn with; the only modules besides the pages that know Streamlit."""
