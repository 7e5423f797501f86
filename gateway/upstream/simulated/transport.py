"""Carries calls to the simulation as another transport carries them to a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

import anyio
import anyio.lowlevel

from gateway.upstream.provider import HttpCall
from gateway.upstream.redact import Mask
from gateway.upstream.simulated import embedding, wording
from gateway.upstream.simulated.answering import draft
from gateway.upstream.simulated.asked import Asked, Refused, read
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.limits import Limits
from gateway.upstream.simulated.pieces import ended
from gateway.upstream.simulated.settings import SimulatedModel, Simulation

_PATH = "/chat/completions"
_EMBEDDINGS = "/embeddings"
_JSON = "application/json"
_EVENTS = "text/event-stream; charset=utf-8"


class _Headers(Mapping[str, str]):
    """Headers with lower-case names, found in any case."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    def __getitem__(self, name: str) -> str:
        return self._headers[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)


class SimulatedResponse:
    """An answer: its *frames* come one by one, each after *pause* seconds a token."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        frames: Iterable[tuple[bytes, int]],
        pause: float = 0.0,
    ) -> None:
        self.status = status
        self.headers = headers
        self._frames = iter(frames)
        self._pause = pause

    async def read(self) -> bytes:
        """Return the next frame, ``b""`` after the last."""
        frame, tokens = next(self._frames, (b"", 0))
        await _sleep(tokens * self._pause)
        return frame

    def wait_until(self, moment: float) -> None:
        """Do nothing: a simulation is never silent for long."""

    def close(self) -> None:
        """Give no more frames."""
        self._frames = iter(())


class SimulatedTransport:
    """One simulated account: its limits, and the count of its calls.

    A call with temperature 0 is answered from the model and the conversation alone; with a
    ``seed``, from that too; without one, every call is another draw.
    """

    def __init__(
        self, simulation: Simulation | None = None, *, utc_now: Callable[[], datetime] | None = None
    ) -> None:
        self.mask = Mask({})
        self._simulation = simulation or Simulation()
        self._utc_now = utc_now or _utc_now
        self._limits = Limits(self._simulation, self._utc_now)
        self._calls = 0

    async def post(self, call: HttpCall, until: float) -> SimulatedResponse:
        """Answer *call*; it is never silent for long."""
        del until
        await anyio.lowlevel.checkpoint()
        self._calls += 1
        try:
            self._may_fail()
            if call.path == _EMBEDDINGS:
                return self._embedded(call)
            asked, model = self._accepted(call)
            answer = self._answer(asked, model)
            now = anyio.current_time()
            self._limits.take(asked.prompt_tokens + answer.tokens, now)
        except Refused as refused:
            return self._response(refused.status, refused.headers, wording.failure(refused))
        headers = self._limits.headers(now)
        pause = self._seconds(1 / model.tokens_per_second)
        await _sleep(self._seconds(model.first_token_s))
        if asked.streamed:
            frames = tuple(wording.stream(answer))
            told = _Headers(self._headers(_EVENTS) | headers)
            return SimulatedResponse(200, told, frames, pause)
        await _sleep(pause * answer.tokens / asked.n)
        return self._response(200, headers, wording.whole(answer))

    def _may_fail(self) -> None:
        every = self._simulation.fail_every
        if every and self._calls % every == 0:
            message = "The simulated server had an error while processing your request."
            raise Refused(500, message, kind="server_error")

    def _embedded(self, call: HttpCall) -> SimulatedResponse:
        wanted = embedding.read(call.body)
        now = anyio.current_time()
        self._limits.take(wanted.tokens, now)
        return self._response(200, self._limits.headers(now), embedding.written(wanted))

    def _accepted(self, call: HttpCall) -> tuple[Asked, SimulatedModel]:
        if call.path != _PATH:
            raise Refused(404, f"Invalid URL (POST {call.path}).")
        asked = read(call.body)
        model = self._simulation.models.get(asked.model)
        if model is None:
            message = f"The model `{asked.model}` does not exist or you do not have access to it."
            raise Refused(404, message, code="model_not_found")
        return asked, model

    def _answer(self, asked: Asked, model: SimulatedModel) -> wording.Answer:
        draws = 0 if asked.temperature == 0 else self._calls if asked.seed is None else asked.seed
        kind = "greedy" if asked.temperature == 0 else "call" if asked.seed is None else "seed"
        dice = Dice(self._simulation.seed, asked.model, asked.digest, kind, draws)
        drafts = (draft(asked, model, dice.fork(f"choice {i}")) for i in range(asked.n))
        cut = tuple(ended(made, asked.stops, asked.max_tokens) for made in drafts)
        return wording.Answer(asked, cut, dice, int(self._utc_now().timestamp()))

    def _seconds(self, stated: float) -> float:
        return stated / self._simulation.speed if self._simulation.speed > 0 else 0.0

    def _response(self, status: int, headers: Mapping[str, str], body: bytes) -> SimulatedResponse:
        length = {"content-length": str(len(body))}
        told = self._headers(_JSON) | length | self._limits.headers(anyio.current_time())
        return SimulatedResponse(status, _Headers(told | dict(headers)), ((body, 0),))

    def _headers(self, content_type: str) -> dict[str, str]:
        return {"content-type": content_type, "x-request-id": f"sim-{self._calls}"}


async def _sleep(seconds: float) -> None:
    """Sleep, or at least let others run."""
    if seconds > 0:
        await anyio.sleep(seconds)
    else:
        await anyio.lowlevel.checkpoint()


def _utc_now() -> datetime:
    return datetime.now(UTC)
