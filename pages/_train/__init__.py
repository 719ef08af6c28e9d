"""The page Train, part by part."""
