"""Finds in a text what a writer must not make up: numbers, links, sources, names of code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from techniques.parts.keys import NUMBER_WORDS

_MOST_DIGITS: Final = 60  # a longer number is compared as it is written
_MOST_KNOWN: Final = 600_000  # characters
_MOST_READ: Final = 100_000  # characters of a text to look for new things in
_MOST_SOUGHT: Final = 200  # names that are no whole words, and so sought in all of what is known
_EDGES: Final = ".,;:!?*_"


class Known:
    """What some texts say, to tell what another text has beyond it.

    Texts that are too long to be looked through in a moment say everything, and have nothing new.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        whole = "\n".join(texts)
        self._all = len(whole) > _MOST_KNOWN
        if self._all:
            return
        self._text = whole.casefold()
        self._words = set(_WHOLE_WORD.findall(self._text))
        words = set(_LETTERS.findall(" ".join(self._words))) & NUMBER_WORDS.keys()
        self._numbers = {*_numbers(whole), *(NUMBER_WORDS[word] for word in words)}

    def beyond(self, text: str) -> list[str]:
        """Return what *text* has of numbers, links, sources and names that is not known."""
        if self._all or len(text) > _MOST_READ:
            return []
        bare = _LISTED.sub("", text)
        links = [link.rstrip(_EDGES) for link in _LINK.findall(bare)]
        bare = _LINK.sub(" ", bare)
        unknown = self._unknown([*links, *_sources(bare), *_names(bare)])
        numbers = _numbers(_NAMED.sub(" ", bare))
        return unknown + [number for number in numbers if number not in self._numbers]

    def _unknown(self, names: Sequence[str]) -> list[str]:
        plain = [name.casefold() for name in names]
        sought = [name for name in dict.fromkeys(plain) if name not in self._words]
        new = {name for name in sought[:_MOST_SOUGHT] if name not in self._text}
        return [name for name, bare in zip(names, plain, strict=True) if bare in new]


def _numbers(text: str) -> Iterator[str]:
    """Yield the numbers of *text*, each once, in one spelling: without grouping and idle zeros."""
    for written in dict.fromkeys(_NUMBER.findall(text)):
        grouped = _GROUPED.fullmatch(written)
        plain = _GROUPING.sub("", written) if grouped else written.replace(",", ".")
        whole, _, part = plain.partition(".")
        if len(plain) > _MOST_DIGITS or "." in part:
            yield plain
        else:
            part = part.rstrip("0")
            yield (whole.lstrip("0") or "0") + (f".{part}" if part else "")


def _sources(text: str) -> Iterator[str]:
    """Yield what names a source: its identifier, or its author where a year follows."""
    for found in _CITED.finditer(text):
        yield (found["id"] or found["author"]).rstrip(_EDGES)


def _names(text: str) -> Iterator[str]:
    """Yield what looks like a name in a program."""
    yield from _NAMED.findall(text)
    for quoted in _QUOTED.findall(text):
        yield from _WORD.findall(quoted)


_LINK = re.compile(
    r"""(?:https?://|www\.)[^\s<>()\[\]"'`]+|\b[\w.+-]{1,64}+@[\w-]{1,64}+\.[\w.-]{1,64}""",
    re.IGNORECASE,
)
_CITED = re.compile(
    r"""\b(?P<id>\d{4}\.\d{4,5}\b|10\.\d{4,9}/[^\s,;)\]]+)  # arXiv, DOI
      |\b(?P<author>[A-Z][\w'\u2019-]{1,40}+)
       (?:\s+et\s+al\.?,?\s+\(?|(?:\s+(?:and|&)\s+[A-Z][\w'\u2019-]{1,40}+)?(?:,\s+|\s+\())
       (?:1[89]|20)\d\d\b""",
    re.VERBOSE,
)
_NAMED = re.compile(
    r"""\b[A-Za-z]\w*_\w+         # snake_case
      |\b[a-z]+[A-Z]\w*           # camelCase
      |\b[A-Z][a-z0-9]+[A-Z]\w*   # PascalCase
      |\b[A-Za-z_]\w*(?=\(\))     # a call""",
    re.VERBOSE,
)
_QUOTED = re.compile(r"`([^`\n]{1,80})`")
_WORD = re.compile(r"[A-Za-z_]\w*")
_WHOLE_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"\d+(?:[.,'\u00a0\u2009\u202f]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:[,'\u00a0\u2009\u202f]\d{3})+(?:\.\d+)?")
_GROUPING = re.compile(r"[,'\u00a0\u2009\u202f]")
_LISTED = re.compile(
    r"^[ \t>#*_-]{0,12}(?:(?:step|part|option|point|section)\s+)?\d{1,2}[.):]",
    re.IGNORECASE | re.MULTILINE,
)
"""The number of an item or a step: how a text is laid out, and nothing that it claims."""
