"""How findings are told, how bad they are, and that no secret is in them."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import anyio
import anyio.to_thread
import orjson
import pytest

from gateway.doctor.case import Case
from gateway.doctor.examining import examine, is_over
from gateway.doctor.finding import Finding, Level, as_json, code_of, rendered, without
from tests.gateway.doctor.scene import case

FOUND = [
    Finding("store", "ok", "it answers"),
    Finding("store", "error", "it is full " * 12, "why not", "redis-cli --a-command " * 6),
    Finding("disk", "warning", "little room"),
]


def test_the_code_is_that_of_the_worst() -> None:
    def code(*levels: Level) -> int:
        return code_of([Finding("x", level, "") for level in levels])

    assert code() == code("ok", "note", "skipped") == 0
    assert code("ok", "warning") == 1
    assert code("warning", "error", "ok") == 2


def test_they_are_told_under_what_was_looked_at_and_commands_stay_in_one_piece() -> None:
    lines = rendered(FOUND).splitlines()

    assert lines[0] == "store"
    assert lines[1] == "  ok       it answers"
    assert lines[2].startswith("  error    it is full it is full")
    assert lines[3].startswith("           it is full")
    assert "           why  why not" in lines
    assert f"           fix  {FOUND[1].fix}" in lines
    assert lines[-4:] == ["disk", "  warning  little room", "", "1 error, 1 warning"]
    assert rendered(FOUND[:1]).splitlines()[-1] == "nothing is wrong"


def test_they_are_told_to_programs() -> None:
    told = as_json(FOUND)

    assert (told["code"], told["errors"], told["warnings"]) == (2, 1, 1)
    assert orjson.loads(orjson.dumps(told))["findings"][2] == {
        "check": "disk",
        "level": "warning",
        "what": "little room",
        "why": "",
        "fix": "",
    }


def test_no_secret_is_told_wherever_it_stands() -> None:
    secret = "sk-canary"
    (told,) = without(
        [secret, "", "a"], [Finding("x", "error", secret, f"a{secret}", f"{secret}-")]
    )

    assert told == Finding("x", "error", "[secret]", "a[secret]", "[secret]-")


def test_all_secrets_of_a_configuration_are_known() -> None:
    row = {"dialect": "openai_chat", "base_url": "https://u:canary-0@a.example/v1"}
    known = case(
        providers={"p": {**row, "api_key": "canary-1", "headers": {"x-api-key": "Token canary-2"}}},
        models=[{"name": "m", "provider": "p"}],
        store={"redis": "redis://:canary-3@a:1,redis://u:canary-4@b:2"},
        database={"url": "postgresql://u:canary-5@h/x"},
        metrics={"token": "canary-6"},
        attention={
            "persons": [
                {
                    "name": "ann",
                    "hash": "hmac-sha256:" + "1" * 64,
                    "webhook": "https://w.example",
                    "webhook_secret": "canary-7",
                }
            ]
        },
    ).secrets

    assert {f"canary-{number}" for number in range(8)} <= set(known)
    assert {"canary-key-secret-0123", "canary-admin-token-4567"} <= set(known)


async def _hangs(_case: Case) -> AsyncGenerator[Finding, None]:
    yield Finding("a", "ok", "seen before")
    await anyio.sleep_forever()


async def _blocks(_case: Case) -> AsyncGenerator[Finding, None]:
    await anyio.to_thread.run_sync(time.sleep, 3)
    yield Finding("b", "ok", "never seen")


async def _fails(_case: Case) -> AsyncGenerator[Finding, None]:
    yield Finding("c", "ok", "seen before")
    raise RuntimeError("canary-key-secret-0123 is what it is about")


async def _is_fine(_case: Case) -> AsyncGenerator[Finding, None]:
    yield Finding("d", "ok", "fine")


def test_what_hangs_blocks_or_fails_keeps_nothing_from_being_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    began = time.monotonic()
    found = examine(
        case(within_s=0.2), [("a", _hangs), ("b", _blocks), ("c", _fails), ("d", _is_fine)]
    )
    took = time.monotonic() - began

    assert [(it.check, it.level) for it in found] == [
        ("a", "ok"),
        ("a", "error"),
        ("b", "error"),
        ("c", "ok"),
        ("c", "error"),
        ("d", "ok"),
    ]
    assert "no answer within 0.2 s" in found[1].what
    assert found[4].what.endswith("RuntimeError: [secret] is what it is about")
    said = capsys.readouterr()
    assert "Traceback" in said.err
    assert "canary" not in said.out + said.err
    assert took < 2.9
    assert not is_over()
    while not is_over():  # what is left behind must not be there in other tests
        time.sleep(0.05)
