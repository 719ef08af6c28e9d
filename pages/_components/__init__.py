"""The page Components, part by part."""
