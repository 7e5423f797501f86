"""A provider that is played on virtual time: each call has a head, an answer and a length."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from gateway.upstream.head import Head, Headed
from pricing.usage import Usage
from techniques.core.errors import GatewayError, UpstreamFailed
from techniques.core.events import Event, Finished, Started, TextDelta, UsageReported
from techniques.core.request import Request


@dataclass(frozen=True)
class Answer:
    """One answer; ``error`` is raised after ``begins_s``, if ``unheard`` without a head.

    ``unsent``: until it begins nothing is sent.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=lambda: Usage(10, 5))
    begins_s: float = 0.0
    takes_s: float = 1.0
    text: str = "hi"
    status: int = 200
    error: GatewayError | None = None
    body: bytes = b""
    unheard: bool = False
    unsent: bool = False


def refusal(wait_s: float | None = None, **headers: str) -> Answer:
    """Return a 429."""
    if wait_s is not None:
        headers["retry-after"] = f"{wait_s:g}"
    error = UpstreamFailed("slow down", "rate_limited", retryable=True, retry_after=wait_s)
    return Answer({k.replace("_", "-"): v for k, v in headers.items()}, status=429, error=error)


def failure(kind: Any = "server", status: int = 500) -> Answer:
    """Return a failure that is no limit."""
    return Answer(status=status, error=UpstreamFailed("broken", kind, retryable=True))


class Provider:
    """A channel that answers in turn, the last answer again and again."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers) or [Answer()]
        self.began: list[float] = []
        self.ended: list[float] = []

    def open(self, request: Request) -> _Call:
        self.began.append(anyio.current_time())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return _Call(self, answer)


class _Call(Headed):
    def __init__(self, provider: Provider, answer: Answer) -> None:
        self._provider = provider
        self._answer = answer
        self._come = False

    def head(self) -> Head | None:
        answer = self._answer
        known = self._come and not answer.unheard
        return Head(answer.status, answer.headers, answer.body) if known else None

    def is_unsent(self) -> bool:
        return self._answer.unsent and not self._come

    async def __aenter__(self) -> AsyncIterator[Event]:
        await anyio.sleep(self._answer.begins_s)
        self._come = True
        if self._answer.error is not None:
            raise self._answer.error
        return self._told()

    async def __aexit__(self, *_: object) -> None:
        self._provider.ended.append(anyio.current_time())

    async def _told(self) -> AsyncIterator[Event]:
        answer = self._answer
        yield Started("real-fast", "c1")
        yield TextDelta(answer.text)
        await anyio.sleep(answer.takes_s)
        yield UsageReported(answer.usage)
        yield Finished("stop")
