"""The page Compose, part by part; page.py puts them together."""
