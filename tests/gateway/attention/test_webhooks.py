"""Webhooks, by a receiver on this machine's loopback."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import orjson
import pytest

from gateway.attention.questions import SECOND
from gateway.attention.webhooks import WebhookPolicy, Webhooks
from gateway.config import Config, Secrets
from gateway.preflight import faults
from techniques.core.json import Json
from tests.gateway.attention.scene import YES, Scene, clock, person
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
HERE = WebhookPolicy(attempts=3, retry_s=0.01, allow_private=True)
LATER = 86_400 * SECOND


@dataclass
class Receiver:
    """Answers each request with the next of *statuses*, and keeps what came."""

    statuses: list[int]
    port: int = 0
    came: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    twice: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = head.split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        body = await reader.readexactly(int(headers["content-length"]))
        self.came.append((lines[0], headers, body))
        if len(self.came) == 2:
            self.twice.set()
        status = self.statuses.pop(0) if self.statuses else 200
        location = "location: http://127.0.0.1:1/\r\n" if status == 307 else ""
        writer.write(f"HTTP/1.1 {status} x\r\n{location}content-length: 2\r\n\r\nok".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    @property
    def bodies(self) -> list[Json]:
        return [orjson.loads(body) for _, _, body in self.came]


@asynccontextmanager
async def receiving(*statuses: int) -> AsyncGenerator[Receiver, None]:
    receiver = Receiver(list(statuses))
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    async with server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


def hooked(port: int, asks: int = 3, policy: WebhookPolicy = HERE) -> Scene:
    hook = f"http://127.0.0.1:{port}/hook?for=ana"
    return Scene((person(asks=asks, webhook=hook, secret="shared"),), policy=policy)


async def test_a_person_is_told_of_what_is_asked_once_and_signed() -> None:
    async with receiving() as receiver:
        scene = hooked(receiver.port)
        asked = await scene.ask("Deploy?", detail="version 7", options=("now",))
        for _ in range(2):
            await scene.asking.tell()

    ((line, headers, body),) = receiver.came
    at, _, given = headers["x-lockgate-signature"].removeprefix("t=").partition(",v1=")
    signed = hmac.new(b"shared", f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    told = orjson.loads(body)
    assert line == "POST /hook?for=ana HTTP/1.1"
    assert headers["content-type"] == "application/json"
    assert given == signed
    assert abs(int(at) - clock() / SECOND) < PATIENCE_S
    assert (told["ask"], headers["x-lockgate-delivery"]) == (asked.ask, asked.ask)
    (question,) = told["approvals"]
    assert (question["id"], question["detail"]) == (asked.id, "version 7")
    assert scene.count("lockgate_webhook_attempts_total", outcome="delivered") == 1


async def test_a_digest_is_one_message_with_each_question_once() -> None:
    async with receiving() as receiver:
        scene = hooked(receiver.port)
        await scene.board.be_away(scene.ana, None)
        for question in ("a?", "b?", "a?"):
            await scene.ask(question)
        await scene.board.be_available(scene.ana)
        await scene.asking.beat()
        await scene.asking.tell()

    (told,) = receiver.bodies
    assert [it["question"] for it in told["approvals"]] == ["a?", "b?"]


async def test_an_answer_that_is_no_success_is_tried_again_with_the_same_name() -> None:
    async with receiving(500, 307) as receiver:
        scene = hooked(receiver.port)
        await scene.ask("Deploy?")
        webhooks = Webhooks(scene.board, HERE)
        for _ in range(5):
            await webhooks.tell(clock() + LATER)

    assert len(receiver.came) == 3
    assert len({headers["x-lockgate-delivery"] for _, headers, _ in receiver.came}) == 1
    assert scene.count("lockgate_webhook_attempts_total", outcome="failed") == 2
    assert scene.count("lockgate_webhook_attempts_total", outcome="delivered") == 1


async def test_it_is_tried_so_often_and_no_more() -> None:
    async with receiving(*[503] * 9) as receiver:
        scene = hooked(receiver.port)
        await scene.ask("Deploy?")
        webhooks = Webhooks(scene.board, HERE)
        for _ in range(6):
            await webhooks.tell(clock() + LATER)

    assert len(receiver.came) == 3
    assert scene.count("lockgate_webhook_attempts_total", outcome="given_up") == 1


async def test_nobody_at_the_address_is_a_failure_like_another() -> None:
    async with receiving() as receiver:
        pass
    scene = hooked(receiver.port)
    await scene.ask("Deploy?")

    await scene.asking.tell()

    assert scene.count("lockgate_webhook_attempts_total", outcome="failed") == 1


async def test_a_private_address_is_not_called_whatever_its_name_leads_to() -> None:
    async with receiving() as receiver:
        for host in ("127.0.0.1", "localhost"):
            hook = f"http://{host}:{receiver.port}/"
            policy = replace(HERE, allow_private=False)
            scene = Scene((person(webhook=hook, secret="shared"),), policy=policy)
            await scene.ask("Deploy?")
            await scene.asking.tell()
            assert scene.count("lockgate_webhook_attempts_total", outcome="failed") == 1

    assert receiver.came == []


async def test_what_was_decided_meanwhile_is_not_told_of() -> None:
    async with receiving(500) as receiver:
        scene = hooked(receiver.port)
        asked = await scene.ask("Deploy?")
        webhooks = Webhooks(scene.board, HERE)
        await webhooks.tell(clock())
        await scene.board.decide(scene.ana, asked.id, replace(YES, at=clock()))
        await webhooks.tell(clock() + LATER)

    assert len(receiver.came) == 1


async def test_of_two_replicas_one_tells() -> None:
    async with receiving() as receiver:
        scene = hooked(receiver.port)
        await scene.ask("Deploy?")
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(Webhooks(scene.board, HERE).tell, clock())

    assert len(receiver.came) == 1


async def test_the_service_asks_and_tells_by_itself() -> None:
    async with receiving(500) as receiver:
        scene = hooked(receiver.port)
        async with anyio.create_task_group() as group:
            group.start_soon(scene.asking.serve)
            await scene.ask("Deploy?")
            with anyio.fail_after(PATIENCE_S):
                await receiver.twice.wait()
            group.cancel_scope.cancel()

    assert len(receiver.came) == 2


def test_pauses_grow_and_are_bounded(anyio_backend: str) -> None:
    policy = WebhookPolicy(attempts=9, retry_s=5)

    assert [policy.pause_s(n) for n in (1, 2, 3, 9)] == [5, 20, 80, 3600]


@pytest.mark.parametrize(
    ("webhook", "why"),
    [
        ("ftp://example.com", "no http or https address"),
        ("http://10.0.0.1/x", "a private address"),
        ("http://localhost/x", "a private address"),
        ("https://example.com/x", None),
    ],
)
def test_an_address_is_looked_at_before_the_start(
    webhook: str, why: str | None, anyio_backend: str
) -> None:
    row = {"name": "ana", "hash": "hmac-sha256:" + "0" * 64}
    row |= {"webhook": webhook, "webhook_secret": "x"}
    provider = {"dialect": "openai_chat", "simulated": {"seed": 0}}
    config = Config.model_validate(
        {
            "providers": {"sim": provider},
            "models": [{"name": "m", "provider": "sim"}],
            "attention": {"persons": [row]},
        }
    )

    found = faults(config, Secrets("s", None))

    assert [line for line in found if why and why in line] == found
    assert bool(found) == bool(why)
