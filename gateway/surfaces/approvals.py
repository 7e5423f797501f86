"""``/v1/approvals`` and ``/v1/attention``: agents ask people, and people decide."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Annotated, Final, Literal, get_args

from pydantic import AwareDatetime, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.attention.attending import Hold
from gateway.attention.board import Asker, Board, Question
from gateway.attention.persons import Person
from gateway.attention.questions import SECOND, Decision, Kind, State
from gateway.attention.rounds import asked_now
from gateway.attention.telling import told, told_verdict
from gateway.stores.database.records import NotThere
from gateway.stores.ledger import StoreLost
from gateway.surfaces.asked import Endpoint, asked_at, attended, form_of, wait_s_of
from gateway.surfaces.completion import Front
from gateway.surfaces.incoming import headers_of
from gateway.surfaces.numbers import whole
from gateway.surfaces.operations import json_answer
from router_service.groundwork.section import Section
from techniques.core.errors import Denied, RequestRejected
from techniques.core.json import JsonObject

_MOST: Final = 1000
_AGAIN_S: Final = 5
"""After which to look again, where nobody can tell how often a person was asked."""
_ASKED: Final[JsonObject] = {"ask": "go", "until": None}

_PLAIN: Final = r"^[^\x00]*$"
"""Texts without NUL, which not every database can keep."""
Option = Annotated[str, Field(min_length=1, max_length=200, pattern=_PLAIN)]


class NewQuestion(Section):
    """A question to a person. Who asks is known by the key; nobody is who the body says."""

    person: str = Field(min_length=1, max_length=64)
    question: str = Field(min_length=1, max_length=4000, pattern=_PLAIN)
    kind: Kind = "question"
    detail: str = Field("", max_length=20_000, pattern=_PLAIN)
    options: tuple[Option, ...] = Field((), max_length=20)
    urgency: Literal["normal", "urgent"] = "normal"
    expires_s: float | None = Field(None, gt=0, le=30 * 86_400)


class Decided(Section):
    """What a person decides: of the options one, and a note if they like."""

    option: str | None = Field(None, max_length=200, pattern=_PLAIN)
    note: str | None = Field(None, max_length=4000, pattern=_PLAIN)


class Away(Section):
    """Until when a person is away; None: nobody knows."""

    until: AwareDatetime | None = None


class ApprovalsEndpoint:
    """One method a path; *board* None: there is nobody to ask."""

    def __init__(self, front: Front, board: Board | None) -> None:
        self._front = front
        self._found = board

    def routes(self) -> list[Route]:
        """Return its paths."""
        one = "/v1/approvals/{name}"
        paths: tuple[tuple[str, str, Endpoint], ...] = (
            ("/v1/approvals", "POST", self.create),
            ("/v1/approvals", "GET", self.all),
            (one, "GET", self.one),
            (f"{one}/approve", "POST", partial(self.decide, "approved")),
            (f"{one}/reject", "POST", partial(self.decide, "rejected")),
            (f"{one}/withdraw", "POST", self.withdraw),
            ("/v1/attention", "GET", self.own_attention),
            ("/v1/attention/away", "POST", self.away),
            ("/v1/attention/available", "POST", self.available),
            ("/v1/attention/{name}", "GET", self.attention),
        )
        gate = self._front.gate
        return [Route(path, asked_at(gate, serve), methods=[how]) for path, how, serve in paths]

    @property
    def _board(self) -> Board:
        if self._found is None:
            raise NotThere("There is nobody to ask: see attention.persons of the configuration.")
        return self._found

    async def create(self, request: Request) -> Response:
        """Ask a person something."""
        board = self._board
        asker = await self._asker(request)
        asked = await form_of(request, NewQuestion)
        person = board.persons.named(asked.person)
        made = await board.ask(
            asker,
            Question(
                asked.person,
                asked.question,
                asked.kind,
                asked.detail,
                asked.options,
                urgent=asked.urgency == "urgent",
                expires_s=asked.expires_s,
            ),
        )
        assert person is not None, "else it would have been refused"
        with suppress(StoreLost):  # it stands, and is asked when the ledger is back
            await asked_now(board, person)
        made = await board.one(made.id, asker)
        verdict = await self._verdict(person) if made.asked_at is None else _ASKED
        return json_answer({**told(made), "verdict": verdict}, 201)

    async def all(self, request: Request) -> Response:
        """List the questions of whoever asks for them."""
        board = self._board
        viewer = await self._viewer(request)
        state, limit = _state_of(request), _limit_of(request)
        found = await attended(
            request.receive, partial(board.listed, viewer, state, limit, wait_s_of(request))
        )
        return json_answer({"approvals": [told(it) for it in found]})

    async def one(self, request: Request) -> Response:
        """Tell of one question, once it has ended or the time to wait has."""
        board = self._board
        viewer, wait_s = await self._viewer(request), wait_s_of(request)
        name: str = request.path_params["name"]
        found = await attended(request.receive, partial(board.one, name, viewer, wait_s))
        return json_answer(told(found))

    async def decide(self, state: Literal["approved", "rejected"], request: Request) -> Response:
        """Decide a question, as the person whose token came with the request."""
        board, person = self._board, self._person(request)
        if person is None:
            await self._front.door.caller(headers_of(request.scope))
        person = board.must_be_person(person)
        said = await form_of(request, Decided)
        decision = Decision(state, board.clock(), said.option, said.note)
        return json_answer(told(await board.decide(person, request.path_params["name"], decision)))

    async def withdraw(self, request: Request) -> Response:
        """Take a question back."""
        asker = await self._asker(request)
        return json_answer(told(await self._board.withdraw(asker, request.path_params["name"])))

    async def own_attention(self, request: Request) -> Response:
        """Tell a person how they can be asked."""
        person = self._board.must_be_person(self._person(request))
        return json_answer({"person": person.name, **await self._verdict(person)})

    async def attention(self, request: Request) -> Response:
        """Tell whether a person can be asked: ``go``, ``hold`` until then, or ``suspend``."""
        await self._viewer(request)
        person = self._board.persons.named(request.path_params["name"])
        if person is None:
            raise NotThere(f"There is nobody called {request.path_params['name']!r}.")
        return json_answer({"person": person.name, **await self._verdict(person)})

    async def away(self, request: Request) -> Response:
        """Ask a person nothing for a while."""
        person = self._board.must_be_person(self._person(request))
        until = (await form_of(request, Away)).until
        verdict = await self._board.be_away(person, None if until is None else _instant(until))
        return json_answer({"person": person.name, **told_verdict(verdict)})

    async def available(self, request: Request) -> Response:
        """Ask a person again."""
        person = self._board.must_be_person(self._person(request))
        verdict = await self._board.be_available(person)
        return json_answer({"person": person.name, **told_verdict(verdict)})

    async def _verdict(self, person: Person) -> JsonObject:
        try:
            return told_verdict(await self._board.attending.verdict(person))
        except StoreLost:
            return told_verdict(Hold(self._board.clock() + _AGAIN_S * SECOND))

    def _person(self, request: Request) -> Person | None:
        return self._board.persons.who(headers_of(request.scope))

    async def _asker(self, request: Request) -> Asker:
        if self._person(request) is not None:
            raise Denied("People decide; it is for a key to ask.")
        caller = await self._front.door.caller(headers_of(request.scope))
        return Asker(caller.pool, caller.name)

    async def _viewer(self, request: Request) -> Asker | Person:
        return self._person(request) or await self._asker(request)


def _instant(at: datetime) -> int:
    return round(at.timestamp() * SECOND)


def _state_of(request: Request) -> State | None:
    text = request.query_params.get("state", "pending")
    if text == "all":
        return None
    for state in get_args(State):
        if state == text:
            found: State = state
            return found
    message = f"state must be all, {', '.join(get_args(State))}."
    raise RequestRejected(message, code="invalid_value", param="state")


def _limit_of(request: Request) -> int:
    limit = whole(request.query_params.get("limit", "100"), 1, _MOST)
    if limit is None:
        message = f"limit must be a number from 1 to {_MOST}."
        raise RequestRejected(message, code="invalid_value", param="limit")
    return limit
