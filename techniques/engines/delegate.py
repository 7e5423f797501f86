"""Delegating: a first answer tells how hard the question is, and so which technique goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from pydantic import BaseModel, ValidationError

from techniques.core.channel import Channels, Member
from techniques.core.errors import RequestRejected
from techniques.core.events import Event, Note
from techniques.core.masks import masked
from techniques.core.registry import DELEGATED, Card, Cards
from techniques.core.reply import Reply
from techniques.parts.category import categorise
from techniques.parts.tables import Dispatch
from techniques.phases.attempt import Attempt, progress
from techniques.phases.held import Held, Prepaid, holding
from techniques.phases.pilot import Pilot, Reading
from techniques.phases.single import collapsed, single

PLAIN = "baseline"
"""The technique that gives the first answer as it is."""


@dataclass(frozen=True, slots=True)
class Delegating:
    """How to delegate.

    Attributes:
        choose: Returns what to hand on to, by preference: the first that can be used is.
        models: The models that its dispatches may name.
        tokens: After how many tokens the first answer may be passed on; 0: only when it is whole.
    """

    choose: Callable[[Reading], Sequence[Dispatch]]
    models: frozenset[str] = frozenset()
    tokens: int = 64


def delegate(attempt: Attempt, settings: Delegating, cards: Cards) -> AsyncGenerator[Event, None]:
    """Give the question to the technique that *settings* choose for it, of those of *cards*.

    Raises:
        RequestRejected: A dispatch names a model that the request does not bring.
        CapReached: The caps leave no call to make.
        GatewayError: As the technique that was chosen.
    """
    missing = settings.models - {member.name for member in attempt.channels.pool}
    if missing:
        raise RequestRejected(
            f"{attempt.technique} may hand on to the model {min(missing)}, which is not among the "
            "channels of this request.",
            code="invalid_option",
        )
    if not attempt.enough(2):
        return collapsed(attempt)
    return _delegate(_Delegation(attempt, settings, cards))


async def _delegate(delegation: _Delegation) -> AsyncGenerator[Event, None]:
    attempt = delegation.attempt
    yield progress("pilot")
    asked = Reading(attempt.request, categorise(attempt.request))
    pilot = Pilot(attempt, asked, delegation.settings.tokens, delegation.passing_on)
    async with aclosing(pilot.events()) as events:
        async for event in events:
            yield event
    if pilot.passed_on:
        return
    for event in attempt.improved(pilot.reply):
        yield event
    reading = await pilot.reading()
    dispatch = delegation.dispatch(reading)
    yield _note(reading, dispatch)
    for event in attempt.warnings():
        yield event
    async with aclosing(delegation.events(dispatch, pilot.reply)) as events:
        async for event in events:
            yield event


@dataclass(frozen=True, slots=True)
class _Delegation:
    """Who may be handed the question of one attempt, and how."""

    attempt: Attempt
    settings: Delegating
    cards: Cards

    def dispatch(self, reading: Reading) -> Dispatch | None:
        """Return what to hand on to, None for the first answer as it is; warn of what cannot be.

        Where no further call can be paid for, the first answer has to do.
        """
        dispatch, replaced = self._possible(reading)
        for what in replaced:
            self.attempt.warn("technique_replaced", what)
        return dispatch if _is_plain(dispatch) or self.attempt.affords(1) else None

    def passing_on(self, reading: Reading) -> Note | None:
        """Return the note on giving the first answer as it is, None if more is to be done."""
        dispatch, _ = self._possible(reading)
        return _note(reading, self.dispatch(reading)) if _is_plain(dispatch) else None

    def events(self, dispatch: Dispatch | None, first: Reply | None) -> AsyncGenerator[Event, None]:
        """Return the events of *dispatch* at work, which has the *first* answer already."""
        attempt = self.attempt
        leads = self._member(dispatch)
        held = Held(attempt.request, first if leads is attempt.channels.primary else None)
        channels = holding(_led(attempt.channels, leads), held)
        prepaid = Prepaid(attempt.task.allowance, held)
        task = replace(attempt.task, allowance=prepaid, choices=1)  # not all of them rank
        if dispatch is None:
            return single(task, channels)
        card = self.cards[dispatch.technique]
        return card.run(replace(task, options=self._options(card, dispatch)), channels)

    def _possible(self, reading: Reading) -> tuple[Dispatch | None, list[str]]:
        """Return the first dispatch that can be carried out, and why none before it.

        What is not known at all is given up at once.
        """
        replaced: list[str] = []
        for dispatch in self.settings.choose(reading):
            card = self.cards.get(dispatch.technique)
            why = "there is no such technique" if card is None else self._against(card, dispatch)
            if why is None:
                return dispatch, replaced
            replaced.append(f"{dispatch.technique}: {why}")
            if card is None:
                break
        return None, replaced

    def _against(self, card: Card, dispatch: Dispatch) -> str | None:
        """Return what speaks against handing the question on to *card*."""
        permitted = self.attempt.task.techniques
        if card.traits.modality == DELEGATED:
            return "it hands on itself"
        if permitted is not None and card.name not in permitted:
            return "not allowed"
        if "two models" in card.traits.needs and len(self.attempt.channels.pool) < 2:
            return "there is one model"
        able = self._member(dispatch).capabilities
        return masked(card.traits.modality, self.attempt.request, able)

    def _member(self, dispatch: Dispatch | None) -> Member:
        name = None if dispatch is None else dispatch.model
        pool = self.attempt.channels.pool
        return next((one for one in pool if one.name == name), self.attempt.channels.primary)

    def _options(self, card: Card, dispatch: Dispatch) -> BaseModel:
        stated = (self.attempt.task.techniques or {}).get(card.name, {})
        try:
            return card.options.model_validate({**stated, **dispatch.params})
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            raise RequestRejected(
                f"{self.attempt.technique} hands on to {card.name} with an option that it does "
                f"not take: {'.'.join(map(str, fault['loc']))}: {fault['msg']}.",
                code="invalid_option",
            ) from error


def _is_plain(dispatch: Dispatch | None) -> bool:
    """Tell whether *dispatch* is to the first answer as it is."""
    return dispatch is None or (dispatch.technique == PLAIN and dispatch.model is None)


def _led(channels: Channels, first: Member) -> Channels:
    """Return *channels* with *first* in front."""
    others = (member for member in channels.pool if member.id != first.id)
    return replace(channels, primary=first, pool=(first, *others))


def _note(reading: Reading, dispatch: Dispatch | None) -> Note:
    return Note(
        "delegation",
        {
            "technique": PLAIN if dispatch is None else dispatch.technique,
            "difficulty": reading.difficulty,
            "by": reading.by,
            "category": reading.category.name,
        },
    )
