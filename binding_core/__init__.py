"""Everything the Concept Binding Explorer knows; it never imports streamlit."""
