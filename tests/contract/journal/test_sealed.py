"""A journal that is encrypted: who has only what it is kept in reads no prompt and no answer."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway.bookkeeping import journal_of
from gateway.config import Config, Secrets
from gateway.keeping import keeping
from gateway.stores.journal.journal import Sought, Write
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import (
    JournalLost,
    RunName,
    RunRecord,
    Sent,
    Standing,
    StepRecord,
    Stored,
    written,
)
from gateway.stores.journal.seal import JournalSealed, Place, Seal
from gateway.stores.journal.sealed import SealedJournal
from gateway.stores.journal.sealing import Sealing
from tests.contract.journal.desk import Clock, claim, claimed, run, step

pytestmark = pytest.mark.anyio
OLD, NEW = b"o" * 32, b"n" * 32
SENT = Sent("openai_chat", '{"messages": "canary"}', {"x-lockgate-tags": "canary"})
RECORD = replace(run(sent=SENT, checkpoint={"extra": "canary"}), secret="canary")
STANDING = Standing("completed", answer='["canary"]', decided={"cut": "canary"})
ANSWERED = step(state="completed", seq=1, events='["canary"]')
FAILED = step("t:0:c1:candidate:0", state="failed", error=("server", "code", "canary"))
UNDER_WAY = step("t:0:c2:candidate:0", state="dispatched", partial="canary")
WHOLE = Stored(RECORD, STANDING, 0, 0, (ANSWERED, FAILED, UNDER_WAY))
NAME = RECORD.name

CLEAR = {
    RunRecord: "name body plan created_ms session named technique model background parent origin"
    " routed",
    Standing: "state eta_ms reason waste saved replayed ambiguous resumes",
    StepRecord: "path key state after seq attempts refusals role model provider shown tokens cost"
    " at_ms of asked",
}
"""What stays readable, for it is looked for or counted: nothing that a client or a model said."""


def sealed(inner: MemoryJournal, *keys: bytes) -> SealedJournal:
    """Return *inner* as a gateway with *keys* has it."""
    return SealedJournal(inner, Seal(keys))


async def kept(inner: MemoryJournal, whole: Stored = WHOLE, *keys: bytes) -> Stored:
    """Put *whole* in under *keys*, and return what *inner* has of it then."""
    await sealed(inner, *keys).put(whole)
    found = await inner.find(whole.record.name)
    assert found is not None
    return found


def text_of(stored: Stored) -> str:
    return "".join((written(stored.record), written(stored.standing), *map(written, stored.steps)))


async def test_no_word_of_a_run_can_be_read_in_what_it_is_kept_in() -> None:
    inner = MemoryJournal(Clock())
    journal = sealed(inner, NEW)
    hold = (await claimed(journal, RECORD)).hold
    await journal.write(Write(hold, WHOLE.steps, STANDING, record=RECORD))
    found = await inner.find(NAME)
    assert found is not None
    assert "canary" in text_of(WHOLE)
    assert "canary" not in text_of(found)
    assert "canary" not in text_of(await kept(MemoryJournal(), WHOLE, NEW))
    opened = await journal.find(NAME)
    assert opened is not None
    assert (opened.record, opened.standing, opened.steps) == (RECORD, STANDING, WHOLE.steps)


@pytest.mark.parametrize("kind", CLEAR)
def test_each_field_of_a_record_is_either_known_to_be_harmless_or_encrypted(
    kind: type[Any],
) -> None:
    every = replace(ANSWERED, error=FAILED.error, partial="canary")
    whole = replace(WHOLE, steps=(every,))
    closed = Sealing(Seal([NEW])).closed(whole)
    of, shut = (
        next(part for part in (it.record, it.standing, it.steps[0]) if isinstance(part, kind))
        for it in (whole, closed)
    )
    names = {one.name for one in fields(kind)}
    changed = {name for name in names if getattr(shut, name) != getattr(of, name)}
    assert names - changed == set(CLEAR[kind].split())


async def test_each_of_several_keys_opens_and_the_first_one_closes() -> None:
    inner = MemoryJournal(Clock())
    await kept(inner, WHOLE, OLD)
    newer = replace(WHOLE, record=replace(RECORD, name=RunName("key", "newer")))
    await sealed(inner, NEW, OLD).put(newer)
    both = [await sealed(inner, NEW, OLD).find(RunName("key", run)) for run in ("run", "newer")]
    assert [one and one.steps for one in both] == [WHOLE.steps] * 2
    with pytest.raises(JournalSealed, match=r"journal\.encryption"):
        await sealed(inner, OLD).find(RunName("key", "newer"))


async def test_what_was_written_before_there_was_a_key_is_read_and_then_encrypted() -> None:
    inner = MemoryJournal(Clock())
    await inner.put(replace(WHOLE, standing=Standing("suspended")))
    journal = sealed(inner, NEW)
    taken = await claimed(journal, RECORD)
    assert (taken.stored.record, taken.stored.steps) == (RECORD, WHOLE.steps)
    await journal.write(Write(taken.hold, WHOLE.steps, STANDING, record=RECORD))
    found = await inner.find(NAME)
    assert found is not None
    assert "canary" not in text_of(found)


def swapped_run(found: Stored) -> Stored:
    return replace(found, record=replace(found.record, name=RunName("key", "other")))


def swapped_owner(found: Stored) -> Stored:
    return replace(found, record=replace(found.record, name=RunName("thief", "run")))


def swapped_step(found: Stored) -> Stored:
    first, second, *others = found.steps
    steps = replace(first, path=second.path), replace(second, path=first.path), *others
    return replace(found, steps=steps)


def swapped_part(found: Stored) -> Stored:
    return replace(found, standing=replace(found.standing, answer=found.steps[0].events))


def one_sign_other(found: Stored) -> Stored:
    first, *others = found.steps
    assert first.events is not None
    other = "A" if first.events[-5] != "A" else "B"
    events = first.events[:-5] + other + first.events[-4:]
    return replace(found, steps=(replace(first, events=events), *others))


def cut_short(found: Stored) -> Stored:
    first, *others = found.steps
    assert first.events is not None
    return replace(found, steps=(replace(first, events=first.events[:24]), *others))


@pytest.mark.parametrize(
    "change",
    [swapped_run, swapped_owner, swapped_step, swapped_part, one_sign_other, cut_short],
)
async def test_a_record_opens_only_as_it_was_and_where_it_was(change: Any) -> None:
    other = change(await kept(MemoryJournal(), WHOLE, NEW))
    inner = MemoryJournal(Clock())
    await inner.put(other)
    with pytest.raises(JournalSealed, match="has changed since"):
        await sealed(inner, NEW).find(other.record.name)


@pytest.mark.parametrize("keys", [(), (NEW,)])
async def test_what_cannot_be_opened_is_listed_without_its_contents_beside_the_others(
    keys: tuple[bytes, ...],
) -> None:
    inner = MemoryJournal(Clock())
    await kept(inner, WHOLE, OLD)
    plain = replace(WHOLE, record=replace(RECORD, name=RunName("key", "plain")))
    await inner.put(plain)
    journal = sealed(inner, *keys)
    found = {one.record.name.run: one for one in await journal.listed(Sought("key"))}
    assert text_of(found["plain"]) == text_of(plain)
    shut = found["run"]
    assert (shut.record.sent, shut.standing.answer, shut.standing.decided) == (None, None, {})
    assert [(one.path, one.state, one.events, one.error) for one in shut.steps] == [
        (one.path, one.state, None, None) for one in WHOLE.steps
    ]
    assert await journal.put(WHOLE) == shut, "what is in the way is told in the same way"
    with pytest.raises(JournalSealed):
        await journal.find(NAME)
    assert await journal.forget([NAME]) == 1


async def test_a_run_that_cannot_be_opened_is_let_go_as_it_stood(clock: Clock) -> None:
    inner = MemoryJournal(clock)
    await kept(inner, replace(WHOLE, standing=Standing("suspended", reason="rate_limit")), OLD)
    with pytest.raises(JournalSealed):
        await sealed(inner, NEW).claim(claim(RECORD))
    found = await inner.find(NAME)
    assert found is not None
    assert (found.standing.state, found.standing.reason, found.lease_ms) == (
        "suspended",
        "rate_limit",
        0,
    )


async def test_those_that_cannot_be_opened_keep_no_others_from_being_taken_up() -> None:
    inner = MemoryJournal(Clock())
    waits = Standing("interrupted")
    shut, open_ = (
        [replace(RECORD, name=RunName("key", f"{kind} {n}"), background=True) for n in range(3)]
        for kind in ("shut", "open")
    )
    for records, key in ((shut, OLD), (open_, NEW)):
        for record in records:
            await kept(inner, Stored(record, waits, 0), key)
    journal = sealed(inner, NEW)
    taken: set[str] = set()
    for _ in range(3):
        taken |= {record.name.run for record in await journal.abandoned(2)}
    assert taken == {"open 0", "open 1"}
    assert len(await journal.abandoned(10)) == 3


async def test_without_a_key_nothing_is_encrypted_or_changed() -> None:
    inner = MemoryJournal(Clock())
    journal = sealed(inner)
    hold = (await claimed(journal, RECORD)).hold
    await journal.write(Write(hold, WHOLE.steps, STANDING, ends=True))
    assert await inner.find(NAME) == await journal.find(NAME)
    assert text_of(await kept(MemoryJournal())) == text_of(WHOLE)


@pytest.mark.parametrize("keys", [(), (NEW,)])
async def test_words_that_look_encrypted_are_words(keys: tuple[bytes, ...]) -> None:
    word = Seal([OLD]).closed("text", Place(NAME, "answer"))
    steps = (step(partial=word), replace(FAILED, error=(word, word, word)))
    sent, decided = Sent("openai_chat", word, {"x": word}), {word: word}
    record = replace(RECORD, sent=sent, checkpoint={word: word}, secret=word)
    whole = replace(WHOLE, record=record, standing=Standing(decided=decided), steps=steps)
    journal = sealed(MemoryJournal(Clock()), *keys)
    await journal.put(whole)
    found = await journal.find(NAME)
    assert found is not None
    assert text_of(found) == text_of(whole)


async def test_what_cannot_be_written_is_told_as_any_other_journal_tells_it() -> None:
    record = replace(RECORD, checkpoint={"number": 2**64})
    with pytest.raises(JournalLost):
        await sealed(MemoryJournal(Clock()), NEW).put(replace(WHOLE, record=record))


def test_the_same_text_is_never_closed_twice_alike() -> None:
    seal, place = Seal([NEW]), Place(NAME, "answer")
    closed = {seal.closed("text", place) for _ in range(100)}
    assert len(closed) == 100
    assert {seal.opened(one, place) for one in closed} == {"text"}


async def test_the_file_of_the_database_has_no_word_of_a_run(tmp_path: Path) -> None:
    stated = {"database": {"url": f"sqlite:///{tmp_path}/lockgate.db"}}
    config = Config.model_validate({**stated, "journal": {"encryption": NEW.hex()}})
    async with (
        keeping(config, Secrets(None, None), lambda _result, _rows: None) as at,
        journal_of(config, at.durable) as journal,
    ):
        hold = (await claimed(journal, RECORD)).hold
        await journal.write(Write(hold, WHOLE.steps, STANDING, ends=True))
        files = [await path.read_bytes() async for path in anyio.Path(tmp_path).iterdir()]
    assert any(b"candidate" in file for file in files), "the run is there"
    assert not any(b"canary" in file for file in files)
