"""The page Map, part by part."""
