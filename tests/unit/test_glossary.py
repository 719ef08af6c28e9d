import re

from binding_core.glossary import TERMS, with_definitions


def test_each_term_is_explained_once_and_nothing_is_nested():
    text = "A bag of concepts has concepts, and concepts again; its margin is <small>."
    html = with_definitions(text)
    assert html.count("<abbr") == html.count("</abbr>") == 3
    assert re.sub(r"<abbr [^>]*>|</abbr>", "", html) == text.replace("<", "&lt;").replace(
        ">", "&gt;"
    )
    assert html.startswith('A <abbr title="The set of')


def test_definitions_are_one_line():
    assert all("\n" not in d and d.endswith(".") for d in TERMS.values())
