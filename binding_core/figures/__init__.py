"""Pure functions from results to what a page shows."""
