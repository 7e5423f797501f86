"""Takes reasoning out of text in which a model marked it with tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gateway.upstream.provider import Target
from gateway.upstream.thinking import ALL_TAGS
from techniques.core.events import TextDelta, ThinkingDelta
from techniques.core.request import Request

_FROM_THE_CLIENT = frozenset({"system", "developer", "user"})


@dataclass(frozen=True, slots=True)
class Tags:
    """Which tags to look for: those with these ``names``.

    Unless they may stand ``anywhere``, only before any other text. With ``opened`` the text begins
    inside: the first tag was a part of the prompt.
    """

    names: tuple[str, ...]
    anywhere: bool = True
    opened: bool = False

    @property
    def opening(self) -> tuple[str, ...]:
        """The tags that begin reasoning."""
        return tuple(f"<{name}>" for name in self.names)

    @property
    def closing(self) -> tuple[str, ...]:
        """The tags that end it."""
        return tuple(f"</{name}>" for name in self.names)

    def of_whole(self, text: str, *, cut: bool) -> Tags:
        """Return these tags for a *text* that is known to its end, or to where it was *cut*.

        It begins inside where a tag is closed that was not opened, and where no tag came at all
        before the cut.
        """
        opened, _ = _first(text, self.opening)
        closed, _ = _first(text, self.closing)
        never = opened < 0 and closed < 0
        lone = closed >= 0 and not 0 <= opened < closed
        inside = lone or (never and cut and self.opened)
        return self if inside == self.opened else replace(self, opened=inside)


def tags_of(request: Request, target: Target) -> Tags | None:
    """Return the tags to look for in the answer of *target* to *request*, None for none.

    Of a model that is not known, they count at the beginning alone, and not where the client speaks
    of them itself: then it asked for them.
    """
    thinks = target.thinks
    if target.split_thinking:
        return Tags(ALL_TAGS, opened=thinks.opened and _thinks(request, target))
    if not thinks.tags:
        return None
    if thinks.known:
        return Tags(thinks.tags, opened=thinks.opened and _thinks(request, target))
    said = _said_by_the_client(request)
    names = tuple(name for name in thinks.tags if f"{name}>" not in said)
    return Tags(names, anywhere=False) if names else None


def _thinks(request: Request, target: Target) -> bool:
    if not target.thinks.off:
        return target.thinks.unasked
    wish = request.decoded().thinking or target.thinking
    return target.thinks.unasked if wish is None else wish.thinks


def _said_by_the_client(request: Request) -> str:
    turns = request.decoded().messages
    return "\n".join([turn.text for turn in turns if turn.role in _FROM_THE_CLIENT])


class TagSplitter:
    """Tells the text between tags from the text around it.

    What might be the beginning of a tag is kept until more text tells, so that the parts do not
    depend on where the text was cut.
    """

    def __init__(self, tags: Tags) -> None:
        self._tags = tags
        self._ends = tags.closing if tags.opened else ()  # what ends the reasoning we are inside
        self._open = tags.opened  # ... which no tag began, as far as is known
        self._fresh = True  # nothing but white space was said yet
        self._held = ""
        self._unclosed: list[str] = []

    def feed(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        """Yield what *text* completes."""
        self._held += text
        if self._fresh and not self._begin():
            return
        while tags := self._looked_for():
            place, tag = _first(self._held, tags)
            if not tag:
                break
            yield from self._piece(self._held[:place])
            self._held = self._held[place + len(tag) :]
            self._ends = () if self._ends else (f"</{tag[1:]}",)
            self._open = False
        sure = len(self._held) - _overlap(self._held, self._looked_for())
        piece, self._held = self._held[:sure], self._held[sure:]
        yield from self._piece(piece)

    def close(self, *, cut: bool) -> Iterator[TextDelta | ThinkingDelta]:
        """Yield what was kept: it was no tag.

        Reasoning that no tag began or ended was the answer after all, unless it was *cut*.
        """
        piece, self._held = self._held, ""
        yield from self._piece(piece)
        if self._open and not cut and self._unclosed:
            yield TextDelta("".join(self._unclosed))

    def told_apart(self) -> None:
        """Take note that the reasoning comes apart from the text, which so begins outside."""
        if self._open:
            self._open, self._ends = False, ()

    def _begin(self) -> bool:
        """Look for a tag at the very beginning; return False as long as that cannot be told."""
        said = self._held.lstrip()
        opening = self._tags.opening
        if not said or any(tag.startswith(said) and tag != said for tag in opening):
            return False
        self._fresh = False
        tag = next((tag for tag in opening if said.startswith(tag)), None)
        if tag is not None:
            self._held = said[len(tag) :]
            self._ends, self._open = (f"</{tag[1:]}",), False
        return True

    def _looked_for(self) -> tuple[str, ...]:
        if self._ends:
            return self._ends
        return self._tags.opening if self._tags.anywhere else ()

    def _piece(self, text: str) -> Iterator[TextDelta | ThinkingDelta]:
        if not text:
            return
        if self._ends:
            if self._open:
                self._unclosed.append(text)
            yield ThinkingDelta(text)
        else:
            yield TextDelta(text)


def _first(text: str, tags: Sequence[str]) -> tuple[int, str]:
    """Return where the first of *tags* stands in *text*, and which; -1 and "" if none does."""
    found = [(place, tag) for tag in tags if (place := text.find(tag)) >= 0]
    return min(found, default=(-1, ""))


def _overlap(text: str, tags: Sequence[str]) -> int:
    """Return how many of the last characters of *text* may begin one of *tags*."""
    longest = max(map(len, tags), default=1) - 1
    for length in range(min(len(text), longest), 0, -1):
        if any(tag.startswith(text[-length:]) for tag in tags):
            return length
    return 0
