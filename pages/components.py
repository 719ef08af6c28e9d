"""Components."""

from pages._shared.chrome import footer, lead, through_app

through_app()
lead("Components", "This page is being built.")
footer()
