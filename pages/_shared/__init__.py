"""What several pages are drawn with."""
