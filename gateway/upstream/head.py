"""What of an answer is there before anything is said: its status and its headers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an answer; header names are lower case. ``body`` is a refusal's, else empty."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class Headed(ABC):
    """A call that can tell the head of its answer."""

    __slots__ = ()

    @abstractmethod
    def head(self) -> Head | None:
        """Return the head, None as long as, or if, none has come."""
