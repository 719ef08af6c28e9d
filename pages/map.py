"""Map."""

from pages._shared.chrome import footer, lead, through_app

through_app()
lead("Map", "This page is being built.")
footer()
