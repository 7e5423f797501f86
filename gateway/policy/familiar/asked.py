"""All that a request wishes for: in our own words, and in those of other gateways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.policy import wishes as wishing
from gateway.policy.familiar.reading import Found, Said
from gateway.policy.familiar.row import Means
from gateway.policy.wishes import Wishes
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json

_TAGS: Final = "tags"


@dataclass(slots=True)
class _Meeting:
    """Wishes that are *given* in our words meet those that were *found*.

    ``taken`` are those of which it is said that they count, also by the model's name.
    """

    given: dict[str, tuple[str, Json]]
    taken: dict[str, tuple[str, Json]]
    found: Found

    def add(self, one: Said) -> None:
        """Add a wish, if there is none of its name."""
        means = one.row.does
        assert isinstance(means, Means)
        before = self.taken.get(means.wish)
        if before is not None:
            if before[1] != one.value:
                self._overrule(one.at, before[0])
            return
        try:
            wishing.TABLE[means.wish].read(one.at, one.value)
        except RequestRejected:
            if not means.lenient:
                raise
            self.found.ignore(one.at)
            return
        self.taken[means.wish] = self.given[means.wish] = one.at, one.value

    def add_tags(self) -> None:
        """Add the tags, if there are none."""
        if (before := self.taken.get(_TAGS)) is not None:
            self._overrule(self.found.tagged, before[0])
        elif text := self.found.tags_text():
            self.given[_TAGS] = self.found.tagged, text

    def _overrule(self, at: str, by: str) -> None:
        self.found.warnings.append(Warned("familiar_overruled", f"{at}: {by} counts"))


def wishes_of(
    headers: Mapping[str, str], body: Mapping[str, Json], found: Found, slug: str | None
) -> Wishes:
    """Return the wishes of *headers* and the ``reliability`` object *body*, and what was *found*.

    *slug* is the technique in the model's name. Of two that differ, that in our words counts.

    Raises:
        RequestRejected: One has no such name, or no such value.
    """
    given = wishing.given(headers, body)
    if found.said or found.tags:
        meeting = _Meeting(given, dict(given), found)
        if slug is not None:
            meeting.taken.setdefault("technique", ("model", slug))
        for one in found.said:
            meeting.add(one)
        if found.tags:
            meeting.add_tags()
    return wishing.meant(given, tuple(found.warnings))
