"""Five lessons of a minute each: a page in the right state, what to notice, and a question."""

from __future__ import annotations

from dataclasses import dataclass

from binding_core.links import ComposeView, encode_view
from binding_core.presets import PRESETS


@dataclass(frozen=True)
class Lesson:
    """One step; its question is one that the page itself can answer."""

    title: str
    page: str  # file name in pages/, without its ending
    parameters: dict[str, str]  # of the page's link
    notice: str
    question: str
    answer: str


_PAIR = PRESETS["Red square, blue circle"]

LESSONS: tuple[Lesson, ...] = (
    Lesson(
        title="See two objects",
        page="compose",
        parameters=encode_view(ComposeView(_PAIR, ("high-coverage",))),
        notice="The model gives each picture its own caption: the framed cells lie on the "
        "diagonal. Drag an object somewhere else: the answer stays.",
        question="Does it still hold when both objects have one colour?",
        answer="No: swapping the colours then leaves the same objects, and there is nothing to "
        "tell apart. Change the circle's colour to red and see.",
    ),
    Lesson(
        title="Swap, and see the bag fail",
        page="compose",
        parameters=encode_view(
            ComposeView(PRESETS["Objects all have seen"], ("web-captions", "high-coverage"))
        ),
        notice="“Web captions” scores both captions almost alike. Its concepts are recognised, "
        "its objects are not: it holds a bag of concepts.",
        question="Does the bag know an object that is alone?",
        answer="Yes: take the arrow away, and the purple circle is recognised. With one object "
        "there is nothing to confuse.",
    ),
    Lesson(
        title="Take the scene apart",
        page="components",
        parameters={"taken_apart": "High coverage"},
        notice="The embedding is nearly a sum: a mean, one part an object, a small rest. Switch a "
        "part off, and that object is no longer read.",
        question="What is lost when only the bindings are switched off?",
        answer="The objects: their concepts are still read. What concepts cannot explain in an "
        "object's part is what binds them.",
    ),
    Lesson(
        title="See image and text disagree",
        page="agreement",
        parameters={"heat_model": "Web captions"},
        notice="Each frame holds scenes of the same concepts. With “High coverage” the diagonal "
        "lights up alone; with “Web captions” the whole frame.",
        question="Can one linear map on the captions mend “Web captions”?",
        answer="Train the maps below: on new scenes the swap accuracy stays near one half. What "
        "is not in an embedding, no map brings back.",
    ),
    Lesson(
        title="Train until it binds",
        page="train",
        parameters={"preset": "binding appears"},
        notice="Start the run. After half a minute the dashed lines rise: objects that training "
        "never met are recognised.",
        question="And with a quarter of the objects in training?",
        answer="Start “binding does not”: the solid lines rise, the dashed ones stay low. The "
        "network learns its objects by heart.",
    ),
)


def lesson_of(number: object) -> tuple[int, Lesson] | None:
    """The lesson that a link names, counted from 1; None for anything else."""
    text = str(number)
    if text.isdecimal() and 1 <= int(text) <= len(LESSONS):
        return int(text), LESSONS[int(text) - 1]
    return None
