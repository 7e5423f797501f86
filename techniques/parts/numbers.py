"""Reads numbers as people and models write them, exactly."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from pricing.record import record

_LONGEST: Final = 60  # digits; what is longer is no answer but a number meant to hurt
_LARGEST_EXPONENT: Final = 308

_UNITS: Final = {
    "$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "€": "eur", "eur": "eur",
    "euro": "eur", "euros": "eur", "£": "gbp", "gbp": "gbp", "pounds": "gbp", "¥": "jpy",
    "%": "%", "percent": "%", "km": "km", "kilometers": "km", "kilometres": "km", "m": "m",
    "meters": "m", "metres": "m", "cm": "cm", "mm": "mm", "miles": "mi", "mph": "mph",
    "km/h": "km/h", "m/s": "m/s", "kg": "kg", "g": "g", "grams": "g", "mg": "mg", "ml": "ml",
    "liters": "l", "litres": "l", "s": "s", "seconds": "s", "min": "min", "minutes": "min",
    "h": "h", "hours": "h", "hour": "h", "days": "d", "day": "d", "weeks": "wk", "years": "yr",
}  # fmt: skip

_DIGITS = r"(?:\d{1,3}(?:[,'_ \u00a0\u2009\u202f]\d{3})+(?!\d)|\d+)"
_PLAIN = rf"(?:{_DIGITS}(?:\.\d+)?|\.\d+)"
_NUMBER = re.compile(
    rf"""(?=[-+$€£¥\\.\d])(?<![\w.])(?<!\d[/:-])(?P<sign>[-+]\s?)?(?P<before>[$€£¥]\s?)?(?P<minus>-)?
    (?:
        \\[dt]?frac\s*\{{\s*(?P<top>-?\d+)\s*\}}\s*\{{\s*(?P<under>\d+)\s*\}}
      | (?:(?P<whole>\d+)[ ])?(?P<upper>\d+)\s?/\s?(?P<lower>\d+)(?![\d/])
      | (?P<european>\d{{1,3}}(?:\.\d{{3}})+,\d+)
      | (?P<plain>{_PLAIN})
        (?:[eE](?P<power>[-+]?\d+)|\s?[x*\u00d7]\s?10\s?\^\s?\{{?(?P<ten>[-+]?\d+)\}}?)?
    )
    (?![\d/:]\d|-\d)(?!\d)
    (?:\s?(?P<after>%|€|£|\$|km/h|m/s|[A-Za-z]+))?""",
    re.VERBOSE,
)
_GROUPING: Final = dict.fromkeys(map(ord, ",'_ \u00a0\u2009\u202f"))
_OF = re.compile(r"\s*(?:out\s+)?of\b[^\d.!?\n]{0,20}", re.IGNORECASE)
_TEX_SPACE = re.compile(r"\\[,;!: ]|\{,\}(?=\d)|\\(?:text|mathrm|mbox)\s*\{([^{}]*)\}|\\(?=[$%])")


@record(frozen=True, slots=True)
class Quantity:
    """An exact number, and its unit in canonical form, "" if it has none that is known."""

    value: Fraction
    unit: str = ""


def quantities(text: str) -> list[Quantity]:
    """Return the numbers of *text* in order; dates and version numbers are none."""
    plain = _tidy(text)
    read = (_read(match) for match in _NUMBER.finditer(plain))
    return [quantity for quantity in read if quantity is not None]


def stated(text: str) -> Quantity | None:
    """Return the number that *text* most likely ends up with.

    The last one; of ``12 of the 36`` and of ``12 out of 36`` the 12.
    """
    plain = _tidy(text)
    previous: tuple[Quantity, int] | None = None
    for match in _NUMBER.finditer(plain):
        quantity = _read(match)
        if quantity is None:
            continue
        share = previous is not None and _OF.fullmatch(plain, previous[1], match.start())
        if not share:
            previous = quantity, match.end("after") if _unit(match) else _bare_end(match)
    return previous[0] if previous else None


def _tidy(text: str) -> str:
    text = text.replace("\u2212", "-").replace("\u2013", "-")
    text = text.replace("{,}", ",")
    return _TEX_SPACE.sub(lambda match: match.group(1) or "", text)


def _bare_end(match: re.Match[str]) -> int:
    """Return where the number itself ends: a word after it that is no unit stays readable."""
    return match.start("after") if match["after"] else match.end()


def _unit(match: re.Match[str]) -> str:
    after = (match["after"] or "").lower()
    return _UNITS.get((match["before"] or "").strip()) or _UNITS.get(after, "")


def _read(match: re.Match[str]) -> Quantity | None:
    if len(match.group()) > _LONGEST:
        return None
    value = _value(match)
    if value is None:
        return None
    negative = ((match["sign"] or "").startswith("-")) != bool(match["minus"])
    return Quantity(-value if negative else value, _unit(match))


def _value(match: re.Match[str]) -> Fraction | None:
    if match["top"] is not None:
        return _ratio("0", match["top"], match["under"])
    if match["upper"] is not None:
        return _ratio(match["whole"] or "0", match["upper"], match["lower"])
    if match["european"] is not None:
        return Fraction(match["european"].replace(".", "").replace(",", "."))
    power = int(match["power"] or match["ten"] or 0)
    if abs(power) > _LARGEST_EXPONENT:
        return None
    digits = match["plain"].translate(_GROUPING)
    value = Fraction(int(digits) if digits.isdecimal() else digits)
    return value * Fraction(10) ** power if power else value


def _ratio(whole: str, top: str, under: str) -> Fraction | None:
    return int(whole) + Fraction(int(top), int(under)) if int(under) else None
