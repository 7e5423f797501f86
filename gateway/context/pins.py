"""What of a conversation must not be lost when it is told in fewer words.

Numbers, ids, addresses and names are found in any language; the cues of decisions and limits are
English. Of what tools gave back only that counts which somebody mentions: their output is full of
numbers that nobody needs again.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from gateway.context.turns import words_of
from techniques.core.request import Message, ToolResult
from techniques.parts.markers import sentences

MOST_VALUES: Final = 48
MOST_SENTENCES: Final = 24
_LONGEST: Final = 240  # characters of a sentence that is pinned
_TELLING: Final = 3
"""Characters that a value of a tool's has to have: a lone 5 is mentioned somewhere by chance."""
_VOICES: Final = 2
_SHORTEST_VOICE, _LONGEST_VOICE = 25, 160

_VALUE: Final = re.compile(
    r"https?://[^\s<>\"'`)\]}]+"
    r"|[$\u20ac\u00a3#]?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?(?!\w)"
    r"|[$\u20ac\u00a3#]?\w+(?:[-./:@+]\w+)*%?"
)
_LISTED: Final = re.compile(r"^[ \t]*\(?\d{1,2}[.)][ \t]+", re.MULTILINE)
_NAME: Final = re.compile(r"(?<=[\w,;:)\"'] )[A-Z][\w'-]+")
_CUE: Final = re.compile(
    r"\b(?:must|never|always|only|at (?:most|least)|no (?:more|less|later|longer) than|not allowed|"
    r"do not|don't|cannot|can't|required?|unless|until|deadline|budget|limit(?:ed)?|decided?|"
    r"decision|agreed?|confirm(?:ed)?|chosen|choose|prefer|instead of|rather than|go with)\b",
    re.IGNORECASE,
)
# fmt: off
_WORDS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Pins:
    """What must not be lost. ``values`` are numbers and ids, as they were written.

    ``sentences`` say what matters, ``voice`` are two of the assistant's own, for how it speaks.
    """

    sentences: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    voice: tuple[str, ...] = ()

    def lost(self, text: str) -> list[str]:
        """Return those of the values that *text* does not have."""
        there = values_in(text).keys()
        spoken = {str(n) for n, word in enumerate(_WORDS) if re.search(rf"\b{word}\b", text, re.I)}
        return [
            value
            for value in self.values
            if _plain(value) not in there
            and _plain(value) not in spoken
            and not re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.I)
        ]


def pinned(old: Sequence[Message], later: Sequence[Message], room: int = sys.maxsize) -> Pins:
    """Return what must not be lost of *old*, after which the messages *later* stay.

    It is no more than can be told in *room* characters: half of them for values.
    """
    spoken = [message for message in old if message.role != "tool"]
    tell = "\n".join(words_of(message.parts) for message in spoken)
    after = "\n".join(words_of(message.parts) for message in later)
    return Pins(
        tuple(_sentences(spoken, room // 2)),
        tuple(_fitting(_values(tell, "\n".join(_results(old)), after), room // 2)),
        tuple(_voice(spoken)),
    )


def values_in(text: str) -> Mapping[str, str]:
    """Return the numbers, ids and addresses in *text*: as they are compared, and as written."""
    found: dict[str, str] = {}
    for written in _written(text):
        found.setdefault(_plain(written), written)
    return found


def _written(text: str) -> Iterator[str]:
    for match in _VALUE.finditer(_LISTED.sub("", text)):
        written = match[0].rstrip(".,:;")
        if any(map(str.isdigit, written)) or "@" in written or "://" in written:
            yield written


def _plain(written: str) -> str:
    """Return *written* so that the same number or id is the same text."""
    plain = written.lstrip("$\u20ac\u00a3#").rstrip("%").lower()
    try:
        number = Decimal(plain.replace(",", "")) if len(plain) < 32 else None
    except InvalidOperation:
        return plain
    return plain if number is None or not number.is_finite() else f"{number.normalize():f}"


def _values(tell: str, results: str, after: str) -> list[str]:
    """Return what is said in *tell*, or in *results* and again in *after*; the foremost first."""
    mentions = Counter(map(_plain, _written(tell)))
    mentions.update(map(_plain, _written(after)))
    said, needed = values_in(tell), values_in(after).keys()
    again = {
        key: value
        for key, value in values_in(results).items()
        if key in needed and len(key) >= _TELLING
    }
    order = {key: place for place, key in enumerate((*again, *said))}
    ranked = sorted(order, key=lambda key: (mentions[key], order[key]), reverse=True)
    return [said.get(key) or again[key] for key in ranked[:MOST_VALUES]]


def _fitting(texts: Iterable[str], room: int) -> Iterator[str]:
    """Yield the first of *texts* that have room, with a comma or a blank between."""
    for text in texts:
        room -= len(text) + 2
        if room < 0:
            return
        yield text


def _results(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        yield from (words_of((part,)) for part in message.parts if isinstance(part, ToolResult))


def _sentences(spoken: Iterable[Message], room: int) -> list[str]:
    """Return the sentences that matter most, in the order in which they were said."""
    weighed: dict[str, tuple[int, int]] = {}
    for message in spoken:
        for sentence in sentences(message.text):
            if weight := _weight(sentence, by_user=message.role == "user"):
                shown = " ".join(sentence.split())[:_LONGEST]
                weighed.setdefault(shown, (weight, len(weighed)))
    heaviest = sorted(weighed, key=lambda one: weighed[one], reverse=True)[:MOST_SENTENCES]
    return sorted(_fitting(heaviest, room), key=lambda one: weighed[one][1])


def _weight(sentence: str, *, by_user: bool) -> int:
    found = 2 * bool(_CUE.search(sentence)) + bool(values_in(sentence))
    found += bool(_NAME.search(sentence))
    return found + by_user if found else 0


def _voice(spoken: Iterable[Message]) -> list[str]:
    said = (message.text for message in spoken if message.role == "assistant")
    fit = [
        " ".join(sentence.split())
        for text in said
        for sentence in sentences(text)
        if _SHORTEST_VOICE <= len(sentence) <= _LONGEST_VOICE and not values_in(sentence)
    ]
    return list(dict.fromkeys(reversed(fit)))[:_VOICES][::-1]
