"""Which language a text is in, by its letters and its smallest words; it need not be right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

_HEAD: Final = 600  # characters: what is not told by then is told by nobody
_LEAST: Final = 2  # such words
_WORD: Final = re.compile(r"[^\W\d_]+")
_SCRIPTS: Final = (  # the first that is there at all tells; kana stand among Chinese letters
    (re.compile(r"[\u3040-\u30ff]"), "ja"),
    (re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"), "ko"),
    (re.compile(r"[\u4e00-\u9fff]"), "zh"),
    (re.compile(r"[\u0456\u0457\u0454\u0491]"), "uk"),
    (re.compile(r"[\u0400-\u04ff]{2}"), "ru"),
    (re.compile(r"[\u0600-\u06ff]{2}"), "ar"),
    (re.compile(r"[\u0590-\u05ff]{2}"), "he"),
    (re.compile(r"[\u0900-\u097f]{2}"), "hi"),
    (re.compile(r"[\u0e00-\u0e7f]{2}"), "th"),
    (re.compile(r"[\u0370-\u03ff]{3}"), "el"),  # one Greek letter is mathematics
)
_WORDS: Final[Mapping[str, str]] = {
    "en": """the of and to is in that it for what are how you with this which was on be have an if
        can do does write from my your i please each many""",
    "de": """der die das und ist nicht ein eine zu den von mit wie was ich sie es auf für im dem
        wir du bitte sind wird kann mir oder warum welche auch""",
    "fr": """le les des et est une que qui dans pour pas sur au du vous je il ce avec quel quelle
        comment nous sont ou mon l d s""",
    "es": """el los las y es un una que de en por para con no se del cómo qué cuál mi como su al lo
        más cuántos está son""",
    "pt": """o os as e é um uma que de em por para com não se do da como qual meu no na são você
        dos quantos está""",
    "it": """il lo gli e è un una che di in per con non si del della come qual mio sono quali dei
        perché quanti nel più""",
    "nl": """het een en van is niet dat op te voor met zijn ik je wat hoe de er aan ook deze hoeveel
        waarom wordt""",
}
_SPOKEN: Final = {
    word: tuple(name for name, words in _WORDS.items() if word in words.split())
    for word in " ".join(_WORDS.values()).split()
}


def language_of(text: str) -> str:
    """Return the code (ISO 639-1) of the language of *text*, "" where that cannot be told."""
    head = text[:_HEAD]
    if not head.isascii():
        for letters, name in _SCRIPTS:
            if letters.search(head):
                return name
    found = Counter(
        name for word in _WORD.findall(head.lower()) for name in _SPOKEN.get(word, ())
    ).most_common(2)
    if not found or found[0][1] < _LEAST or (len(found) > 1 and found[0][1] == found[1][1]):
        return ""
    return found[0][0]
