"""Who answers, and what it told at the head of its answer, for a client to be told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Answering(NamedTuple):
    """The model that answers: the operator's names of it, and what the client calls it."""

    model: str
    provider: str
    shown: str


class Heard(NamedTuple):
    """The head of an answer, and a refusal's body.

    Header names are lower case; ``hide`` takes the account's credentials out of a text.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    hide: Callable[[str], str]
