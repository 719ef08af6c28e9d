"""How complicated is a binding function: what simple form reproduces it on held-out objects?"""
