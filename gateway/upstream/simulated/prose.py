"""Words around an answer: its steps, the final line that was asked for, and stock answers."""

from __future__ import annotations

import re

from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.problem import Problem

_MARKS = (
    (re.compile(r"\\boxed"), "\\boxed{{{}}}"),
    (re.compile(r"####"), "#### {}"),
    (re.compile(r"final answer:", re.IGNORECASE), "Final answer: {}"),
    (re.compile(r"(?:^|[\s\"'`*])answer:", re.IGNORECASE), "Answer: {}"),
)
_OPENINGS = (
    "Let me go through it step by step.",
    "Step by step:",
    "Here is how I get there.",
    "First, what is asked.",
)
# fmt: off
STOPWORDS = frozenset((
    "a", "an", "and", "are", "about", "can", "could", "do", "does", "for", "from", "give", "how",
    "i", "in", "is", "it", "me", "my", "of", "on", "or", "please", "say", "tell", "that", "the",
    "this", "to", "us", "was", "what", "when", "where", "which", "who", "why", "will", "with",
    "would", "write", "you", "your",
))
# fmt: on
_REMARKS = (
    "A real model would weigh the points that matter here and name its sources.",
    "It has no view of its own; a real model would go into detail here.",
    "Nothing was looked up and nothing was reasoned out for it.",
    "Point a model of a real provider at this prompt to get a real reply.",
)


def explained(problem: Problem, answer: str, prompt: str, dice: Dice) -> str:
    """Return *answer* with a few words on how it was found, in the form that *prompt* asks for."""
    opening = dice.pick("opening", _OPENINGS)
    text = f"{opening} {problem.steps} The answer is {answer}."
    mark = next((form for pattern, form in _MARKS if pattern.search(prompt)), None)
    return f"{text}\n\n{mark.format(answer)}" if mark else text


def stock(prompt: str, dice: Dice) -> str:
    """Return an answer to a prompt that the solver knows nothing about."""
    first, second = dice.pick("first", _REMARKS), dice.pick("second", _REMARKS)
    remarks = first if first == second else f"{first} {second}"
    return f"This is a simulated answer about {topic(prompt)}. {remarks}"


def topic(prompt: str) -> str:
    """Return the first few words of *prompt* that carry meaning."""
    words = re.findall(r"[^\W_]+(?:[-'\u2019][^\W_]+)*", prompt[:2000])
    telling = [word for word in words if word.lower() not in STOPWORDS]
    return " ".join(telling[:6]) or "nothing in particular"
