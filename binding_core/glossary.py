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
    explained: set[str] = set()

    def explain(match: re.Match[str]) -> str:
        term = match[0]
        if term in explained:
            return term
        explained.add(term)
        return f'<abbr title="{escape(TERMS[term])}" tabindex="0">{term}</abbr>'

    longest_first = sorted(TERMS, key=len, reverse=True)
    pattern = rf"\b({'|'.join(map(re.escape, longest_first))})\b"
    return re.sub(pattern, explain, escape(text, quote=False))
