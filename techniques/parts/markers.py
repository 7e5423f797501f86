"""Finds where a text states its final answer. What the found words mean is for ``keys``."""

from __future__ import annotations

import re
from typing import Final

CUE_LABEL = "Final answer:"
"""How the line begins that ``cue`` asks for."""

_MARKER = re.compile(
    r"""^[\s>*_#-]*
        (?:(?:so|thus|hence|therefore|and),?\s+)?
        (?:(?:my|the)\s+)?(?:(?:final|correct|right|best)\s+)?(?:answer|result|solution)[*_]*
        (?:\s+(?:to\s+[^.:]{1,60}?\s+)?(?:is|would\s+be|equals)\b\s*:?|\s*[:=\uff1a])[*_]*\s*
        (?P<value>\S.*?)\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_INNER = re.compile(
    r"\b(?:final\s+answer|answer)\s*(?:is|[:=\uff1a])\s*(?P<value>[^\n]+?)\s*$", re.IGNORECASE
)
_HASHES = re.compile(r"^[ \t]*####[ \t]*(\S.*)$", re.MULTILINE)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
_BLANKS = re.compile(r"\s{4,}")
_RUNS = re.compile(r"([^\w\s])\1{4,}")
_BOXES: Final = 8  # a text full of boxes that never close is no reason to search for ever
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_LINE_END: Final = 300
_HEAD: Final = 2000
_TAIL: Final = 6000
_BOLD = re.compile(r"(?<!\*)\*\*(?!\*)([^*\n]{1,80}?)\*\*(?!\*)")


def ends(text: str) -> str:
    """Return *text*, if it is very long only its start and its end, where answers are stated.

    Long runs of blanks or of one sign are cut: they say nothing, and patterns trip over them.
    """
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
    return _RUNS.sub(r"\1\1\1\1", _BLANKS.sub(_squeezed, text))


def _squeezed(blanks: re.Match[str]) -> str:
    """Return what parts words, lines or paragraphs as *blanks* does: all kinds of them count."""
    return ("   ", "\n", "\n\n")[min(blanks[0].count("\n"), 2)]


def boxed(text: str) -> str | None:
    r"""Return what the last closed ``\boxed{...}`` of *text* holds, braces in it balanced."""
    starts = [match.end() for match in _BOX.finditer(text)]
    for start in reversed(starts[-_BOXES:]):
        depth = 1
        for place in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if depth == 0:
                return text[start:place].strip()
    return None


def marked(text: str) -> str | None:
    """Return what follows the last marker such as ``####`` or ``The answer is``."""
    hashes = _HASHES.findall(text)
    if hashes:
        return str(hashes[-1]).strip()
    for line in reversed(text.strip().splitlines()):
        found = _MARKER.match(line) or _INNER.search(line[-_LINE_END:])
        if found:
            return found["value"].strip("*_ \t")
    return None


def last_paragraph(text: str) -> str:
    """Return the last paragraph that has any words."""
    return _PARAGRAPHS.split(text.strip())[-1]


def sentences(text: str) -> list[str]:
    """Return the sentences of *text*; a full stop inside a number or a name splits none."""
    joined = re.sub(r"(?<=\w)\.(?=\w)", "\0", text)
    found = (match.group().strip() for match in _SENTENCE.finditer(joined))
    return [sentence.replace("\0", ".") for sentence in found if sentence]


def bolds(text: str) -> list[str]:
    """Return the short passages in bold, in order."""
    return [found.strip(" .:") for found in _BOLD.findall(text)]
