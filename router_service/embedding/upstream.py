"""Vectors that a configured model gives over HTTP, by OpenAI's ``/v1/embeddings``.

Who makes the calls is handed in: the same driver that talks to providers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import anyio
import orjson

from router_service.contract import LONGEST_VECTOR
from router_service.embedding.settings import EmbeddingSettings
from router_service.embedding.unusable import Unembedded

_FAILURES: Final = 3
_PAUSE_S: Final = 10.0


class Post(Protocol):
    """Posts a body to the configured address."""

    async def __call__(self, body: bytes) -> bytes:
        """Return the body of the answer.

        Raises:
            Unembedded: There is none, or it is none of success.
        """
        ...


class UpstreamVectors:
    """Vectors of a remote model. After three failures it is left alone for ten seconds.

    Attributes:
        failures: How many texts it was asked for in vain since it last answered.
        why: What the last of them failed by.
    """

    def __init__(self, settings: EmbeddingSettings, post: Post) -> None:
        self._settings = settings
        self._post = post
        self._size = settings.dimensions
        self._until = 0.0
        self.failures = 0
        self.why = ""
        size = "" if self._size is None else f":{self._size}"
        self.name = f"upstream:{settings.model}{size}"

    async def __call__(self, text: str) -> Sequence[float] | None:
        """Return the numbers of *text*, None if the model does not give them in time."""
        if anyio.current_time() < self._until:
            return None
        try:
            with anyio.fail_after(self._settings.timeout_s):
                numbers = self._read(await self._post(self._asked(text)))
        except (Unembedded, TimeoutError) as error:
            self.failures += 1
            self.why = str(error) or f"no answer within {self._settings.timeout_s:g} s"
            if self.failures >= _FAILURES:
                self._until = anyio.current_time() + _PAUSE_S
            return None
        self.failures, self.why = 0, ""
        return numbers

    def _asked(self, text: str) -> bytes:
        body: dict[str, object] = {
            "model": self._settings.model,
            "input": text,
            "encoding_format": "float",
        }
        if self._settings.dimensions is not None:
            body["dimensions"] = self._settings.dimensions
        return orjson.dumps(body)

    def _read(self, answer: bytes) -> Sequence[float]:
        """Return the numbers in *answer*; all that come have as many as the first."""
        try:
            numbers = orjson.loads(answer)["data"][0]["embedding"]
        except (ValueError, LookupError, TypeError) as error:
            raise Unembedded("the answer is none of /v1/embeddings") from error
        if not _is_vector(numbers):
            raise Unembedded("the answer holds no vector")
        if self._size is None:
            self._size = len(numbers)
        if len(numbers) != self._size:
            raise Unembedded(f"the vector has {len(numbers)} numbers and not {self._size}")
        return [float(number) for number in numbers]


def _is_vector(numbers: object) -> bool:
    return (
        isinstance(numbers, list)
        and 0 < len(numbers) <= LONGEST_VECTOR
        and all(type(number) in {int, float} for number in numbers)
    )
