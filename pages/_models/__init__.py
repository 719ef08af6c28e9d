"""The page Models, part by part; page.py puts them together."""
