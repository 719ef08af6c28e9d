"""The page Agreement, part by part."""
