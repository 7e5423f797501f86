"""Asks a simulated account as the driver does, and reads what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from gateway.upstream.provider import HttpCall
from gateway.upstream.simulated.transport import SimulatedTransport
from techniques.core.json import JsonObject


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    raw: bytes
    chunks: list[bytes]

    @property
    def body(self) -> Any:
        return orjson.loads(self.raw)

    @property
    def text(self) -> str:
        return str(self.body["choices"][0]["message"]["content"])

    @property
    def events(self) -> list[Any]:
        datas = [chunk.removeprefix(b"data: ") for chunk in self.chunks]
        return [orjson.loads(data) for data in datas if data.strip() != b"[DONE]"]


def said(text: str) -> list[JsonObject]:
    return [{"role": "user", "content": text}]


async def ask(transport: SimulatedTransport, text: str = "What is 17 * 23?", **body: Any) -> Got:
    whole = {"model": "sim-small", "messages": said(text)} | body
    return await send(transport, orjson.dumps(whole))


async def send(transport: SimulatedTransport, raw: bytes, path: str = "/chat/completions") -> Got:
    response = await transport.post(HttpCall(path, raw, {}), 60)
    chunks = []
    while chunk := await response.read():
        chunks.append(chunk)
    return Got(response.status, dict(response.headers), b"".join(chunks), chunks)
