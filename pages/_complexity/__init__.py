"""The page Complexity, part by part."""
