"""A small table of facts, and the forms in which people ask for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.problem import Kind, Problem

CAPITALS: Final[Mapping[str, str]] = {
    "Argentina": "Buenos Aires",
    "Australia": "Canberra",
    "Austria": "Vienna",
    "Belgium": "Brussels",
    "Brazil": "Brasilia",
    "Canada": "Ottawa",
    "Chile": "Santiago",
    "China": "Beijing",
    "Colombia": "Bogota",
    "Cuba": "Havana",
    "Denmark": "Copenhagen",
    "Egypt": "Cairo",
    "Finland": "Helsinki",
    "France": "Paris",
    "Germany": "Berlin",
    "Greece": "Athens",
    "Hungary": "Budapest",
    "Iceland": "Reykjavik",
    "India": "New Delhi",
    "Indonesia": "Jakarta",
    "Ireland": "Dublin",
    "Italy": "Rome",
    "Japan": "Tokyo",
    "Kenya": "Nairobi",
    "Mexico": "Mexico City",
    "Morocco": "Rabat",
    "Nepal": "Kathmandu",
    "New Zealand": "Wellington",
    "Nigeria": "Abuja",
    "Norway": "Oslo",
    "Peru": "Lima",
    "Poland": "Warsaw",
    "Portugal": "Lisbon",
    "Romania": "Bucharest",
    "South Korea": "Seoul",
    "Spain": "Madrid",
    "Sweden": "Stockholm",
    "Switzerland": "Bern",
    "Thailand": "Bangkok",
    "Turkey": "Ankara",
    "Vietnam": "Hanoi",
}
SYMBOLS: Final[Mapping[str, str]] = {
    "aluminium": "Al",
    "calcium": "Ca",
    "carbon": "C",
    "chlorine": "Cl",
    "copper": "Cu",
    "gold": "Au",
    "helium": "He",
    "hydrogen": "H",
    "iron": "Fe",
    "lead": "Pb",
    "magnesium": "Mg",
    "mercury": "Hg",
    "nitrogen": "N",
    "oxygen": "O",
    "potassium": "K",
    "silver": "Ag",
    "sodium": "Na",
    "sulfur": "S",
    "tin": "Sn",
    "zinc": "Zn",
}
PLANETS: Final = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")
_PLANET_CLUES: Final[Mapping[str, str]] = {
    r"closest to the sun|nearest (?:to )?the sun": "Mercury",
    r"farthest from the sun|furthest from the sun": "Neptune",
    r"red planet": "Mars",
    r"largest planet|planet is the largest|biggest planet": "Jupiter",
    r"smallest planet|planet is the smallest": "Mercury",
    r"hottest planet|planet is the hottest": "Venus",
    r"planet[^?]*\brings\b": "Saturn",
    r"planet[^?]*on its side": "Uranus",
}
_SINGLE: Final[Mapping[str, tuple[str, ...]]] = {
    r"author of hamlet|wrote hamlet": ("Shakespeare", "Marlowe", "Milton", "Chaucer", "Dickens"),
    r"author of don quixote|wrote don quixote": ("Cervantes", "Borges", "Lorca", "Dante", "Neruda"),
    r"painted the mona lisa": (
        "Leonardo da Vinci",
        "Michelangelo",
        "Raphael",
        "Titian",
        "Botticelli",
    ),
    r"largest ocean|ocean is the largest": ("Pacific", "Atlantic", "Indian", "Arctic", "Southern"),
    r"longest river in africa": ("Nile", "Congo", "Niger", "Zambezi", "Orange"),
    r"highest mountain|tallest mountain": (
        "Mount Everest",
        "K2",
        "Kangchenjunga",
        "Denali",
        "Makalu",
    ),
    r"discovered penicillin": (
        "Alexander Fleming",
        "Louis Pasteur",
        "Robert Koch",
        "Joseph Lister",
    ),
    r"gas do plants (?:take in|absorb)": ("carbon dioxide", "oxygen", "nitrogen", "hydrogen"),
    r"continents are there|number of continents": ("7", "6", "5", "8"),
    r"days (?:are )?(?:there )?in a leap year": ("366", "365", "364", "367"),
    r"sides does a hexagon have|sides of a hexagon": ("6", "5", "8", "7"),
    r"minutes (?:are )?(?:there )?in (?:a|one) day": ("1440", "1400", "1240", "2400"),
}
_CAPITAL_OF = re.compile(r"capital(?: city)? of (?:the )?([A-Za-z][A-Za-z ]*[A-Za-z])")
_IS_CAPITAL = re.compile(
    r"^\s*is ([a-z ]+?) the capital(?: city)? of (?:the )?([a-z ]*[a-z])", re.IGNORECASE
)
_COUNTRY_OF = re.compile(
    r"(?:which|what) country[^?]*?capital[^?]*?\b(?:is|called|named)\b ([a-z ]+?)\?"
    r"|\b([a-z]+(?: [a-z]+)?) is the capital(?: city)? of (?:which|what) country",
    re.IGNORECASE,
)
_SYMBOL_OF = re.compile(r"(?:chemical )?symbol (?:for|of) (?:the element )?([a-z]+)", re.IGNORECASE)
_ELEMENT_OF = re.compile(r"element[^?]*symbol (?:is )?[\"']?([A-Z][a-z]?)\b")
_FALSE_FRIENDS = 5
_LONGEST = 400  # letters; a short question is not longer


def find(question: str) -> Problem | None:
    """Return the problem that *question* poses, None if the table does not hold its answer."""
    question = question[-_LONGEST:]
    for look in (_is_capital, _country, _capital, _symbol, _element, _planet, _single):
        if problem := look(question):
            return problem
    return None


def _short(question: str, answer: str, others: list[str], steps: str) -> Problem:
    ranked = sorted((o for o in others if o != answer), key=lambda o: Dice(question, o).bits(""))
    return Problem("short", question.strip(), answer, tuple(ranked[:_FALSE_FRIENDS]), steps)


def _named(table: Mapping[str, str], name: str) -> str | None:
    words = name.strip().lower().split()
    for end in range(len(words), 0, -1):
        for key in table:
            if key.lower().split() == words[:end]:
                return key
    return None


def _capital(question: str) -> Problem | None:
    match = _CAPITAL_OF.search(question)
    country = _named(CAPITALS, match[1]) if match else None
    if country is None:
        return None
    steps = f"The question is about the seat of government of {country}."
    return _short(question, CAPITALS[country], list(CAPITALS.values()), steps)


def _is_capital(question: str) -> Problem | None:
    match = _IS_CAPITAL.search(question)
    country = _named(CAPITALS, match[2]) if match else None
    if match is None or country is None:
        return None
    right = CAPITALS[country].lower() == match[1].strip().lower()
    answer, wrong = ("Yes", "No") if right else ("No", "Yes")
    steps = f"The question is whether that city is the seat of government of {country}."
    return Problem("yes_no", question.strip(), answer, (wrong,), steps)


def _country(question: str) -> Problem | None:
    match = _COUNTRY_OF.search(question)
    cities = {city: country for country, city in CAPITALS.items()}
    city = _named(cities, match[1] or match[2]) if match else None
    if city is None:
        return None
    return _short(question, cities[city], list(CAPITALS), f"The question is where {city} lies.")


def _symbol(question: str) -> Problem | None:
    match = _SYMBOL_OF.search(question)
    element = _named(SYMBOLS, match[1]) if match else None
    if element is None:
        return None
    steps = f"In the periodic table {element} has a symbol of one or two letters."
    return _short(question, SYMBOLS[element], list(SYMBOLS.values()), steps)


def _element(question: str) -> Problem | None:
    match = _ELEMENT_OF.search(question)
    names = {symbol: element for element, symbol in SYMBOLS.items()}
    if match is None or match[1] not in names:
        return None
    steps = "The periodic table gives each symbol to one element."
    return _short(question, names[match[1]], list(SYMBOLS), steps)


def _planet(question: str) -> Problem | None:
    if "planet" not in question.lower():
        return None
    for clue, planet in _PLANET_CLUES.items():
        if re.search(clue, question, re.IGNORECASE):
            return _short(question, planet, list(PLANETS), "There are eight planets to compare.")
    return None


def _single(question: str) -> Problem | None:
    for clue, (answer, *others) in _SINGLE.items():
        if re.search(clue, question, re.IGNORECASE):
            kind: Kind = "number" if answer.isdigit() else "short"
            steps = "This is a matter of general knowledge."
            return Problem(kind, question.strip(), answer, tuple(others), steps)
    return None
