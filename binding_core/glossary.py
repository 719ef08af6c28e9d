"""The project's words, each with its one-line definition."""

from __future__ import annotations

import re
from html import escape

TERMS = {
    "binding function": "The map from a scene's concepts to its embedding, of one encoder.",
    "bag of concepts": "The set of a scene's concepts without which belongs to which object.",
    "concepts": "Values of one type, such as red (a colour) or square (a shape).",
    "coverage": "The share of the object space that was seen in training.",
    "swapped": "The scene with one concept type exchanged between two of its objects.",
    "held out": "Kept out of training altogether, even as a negative.",
    "fingerprint": "A hash of a model's weights and preprocessing.",
    "margin": "Similarity to the true caption minus similarity to the swapped one.",
}


def with_definitions(text: str) -> str:
    """The text as HTML in which each term's first occurrence carries its definition."""
    html = escape(text, quote=False)
    for term, definition in TERMS.items():
        html = re.sub(
            rf"\b{re.escape(term)}\b",
            f'<abbr title="{escape(definition)}">{term}</abbr>',
            html,
            count=1,
        )
    return html
