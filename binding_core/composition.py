"""What stands on the page Compose, as one immutable value.

One value, because a Streamlit run can be interrupted at every access to the session's state: what
an action changes must be put there whole, in one assignment, or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from binding_core.editing import Edit, SceneHistory, follow
from binding_core.errors import UserError
from binding_core.links import ComposeView, encode_view, fitting_pair
from binding_core.scenes import Scene, swap

MAX_EDITS_AT_ONCE = 100  # of a browser that was cut off for a while


@dataclass(frozen=True)
class Composition:
    """The scene with its history, the swap, and what the user is told.

    ``link`` is the address under which the browser last got it, None from an action on: then the
    action decides, whatever address the browser, which may be slower, still has.
    """

    history: SceneHistory
    concept: str = "colour"  # the concept type that a swap exchanges
    chosen_pair: tuple[int, int] = (0, 1)  # the objects between which it is exchanged
    acknowledged: int = 0  # number of the editor's last edit that was taken
    notices: tuple[str, ...] = ()
    link: Mapping[str, str] | None = None

    @classmethod
    def opened(cls, view: ComposeView, notices: Sequence[str] = ()) -> Composition:
        """The composition of a link that is opened for the first time."""
        return cls(SceneHistory(view.scene), view.concept, view.pair, notices=tuple(notices))

    def revisited(self, view: ComposeView, notices: Sequence[str] = ()) -> Composition:
        """After the browser's back button: the link's view, and undo leads to the later one."""
        return replace(
            self.then(view.scene),
            concept=view.concept,
            chosen_pair=view.pair,
            notices=tuple(notices),
        )

    @property
    def scene(self) -> Scene:
        """The scene on stage."""
        return self.history.scene

    @property
    def pair(self) -> tuple[int, int]:
        """The objects that a swap acts on, positions in the scene."""
        return fitting_pair(self.scene, self.chosen_pair)

    def view(self, models: Sequence[str]) -> ComposeView:
        """What a link to it carries."""
        return ComposeView(self.scene, tuple(models), self.concept, self.pair)

    def touched(self) -> Composition:
        """After any action of the user: older notices are gone."""
        return replace(self, notices=(), link=None)

    def then(self, scene: Scene) -> Composition:
        """With another scene on stage; undo brings the old one back."""
        return replace(self.touched(), history=self.history.then(scene))

    def swapped(self, concept: str) -> Composition:
        """After a swap of one concept type between the chosen pair."""
        scene = swap(self.scene, concept=concept, pair=self.pair)
        return replace(self.then(scene), concept=concept)

    def paired(self, pair: tuple[int, int]) -> Composition:
        """With another pair chosen for the swap."""
        return replace(self.touched(), chosen_pair=pair)

    def refused(self, error: Exception) -> Composition:
        """Unchanged but for a notice that says what could not be done."""
        return replace(self.touched(), notices=(str(error),))

    def edited(self, messages: object) -> Composition:
        """After the editor's new edits, each taken once and in order.

        ``messages`` is what the browser sent: dictionaries of :class:`Edit`, or anything at all.
        """
        result = self
        for message in messages[:MAX_EDITS_AT_ONCE] if isinstance(messages, list) else ():
            number = message.get("number") if isinstance(message, dict) else None
            if isinstance(number, int) and number > result.acknowledged:
                # Done with, even when it cannot be made.
                result = replace(result._edited_once(message), acknowledged=number)
        return result

    def _edited_once(self, message: dict) -> Composition:
        try:
            edit = Edit.model_validate(message)
            pair = follow(self.chosen_pair, edit, n_objects=len(self.scene.objects))
            return replace(self.touched(), history=self.history.edited(edit), chosen_pair=pair)
        except UserError as error:
            return self.refused(error)
        except ValidationError:
            return self.refused(
                UserError("The editor sent something that is no edit; nothing was changed.")
            )

    def shared(self, models: Sequence[str]) -> Composition:
        """With its link, which the browser is about to get."""
        return replace(self, link=encode_view(self.view(models)))
