"""A server of llama.cpp without a model: its paths, its slots, and the files it writes.

Its answers are those of llama.cpp's own server of October 2026; a word is a token.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from gateway.upstream.provider import HttpCall
from gateway.upstream.redact import Mask
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from tests.fakes import script
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked

Answered: TypeAlias = tuple[int, Json]


@dataclass(slots=True)
class FakeSlot:
    """A slot. ``counted`` False: it was restored, and no call has told of it since."""

    tokens: list[str] = field(default_factory=list)
    counted: bool = False
    used: int = 0


@dataclass(slots=True)
class LlamaServer:
    """One server that writes into *folder*.

    ``down``: nobody answers. ``prompt_ms``: how long a token of a prompt takes.
    """

    folder: Path
    count: int = 2
    context: int = 2048
    model: str = "/models/small.gguf"
    build: str = "b9000-0123abc"
    down: bool = False
    prompt_ms: float = 15.0
    move_ms: float = 2.0
    asked: list[tuple[str, str, Json]] = field(default_factory=list)
    slots: list[FakeSlot] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget what all slots hold."""
        self.slots = [FakeSlot() for _ in range(self.count)]

    def answer(self, method: str, path: str, raw: bytes) -> Answered:
        """Return the status and the body of the answer to one request."""
        body = json.loads(raw) if raw else None
        self.asked.append((method, path, body))
        match method, path.partition("?")[0].split("/")[1:]:
            case "GET", ["props"]:
                return 200, self._props()
            case "GET", ["slots"]:
                return 200, [self._slot(number) for number in range(self.count)]
            case "POST", ["slots", number]:
                action = path.rpartition("action=")[2]
                return self._move(self.slots[int(number) % self.count], action, number, body)
            case "POST", ["v1", "chat", "completions"]:
                return 200, self._complete(body)
            case _:
                return _wrong("File Not Found", 404)

    def calls(self) -> list[Any]:
        """Return the bodies of the completions that were asked for."""
        return [body for _, path, body in self.asked if path.endswith("/completions")]

    def moves(self) -> list[str]:
        """Return the slots that were saved and restored, in order."""
        return [path for _, path, _ in self.asked if "action=" in path]

    def _props(self) -> Json:
        return {
            "default_generation_settings": {"n_ctx": self.context},
            "total_slots": self.count,
            "model_path": self.model,
            "build_info": self.build,
        }

    def _slot(self, number: int) -> dict[str, Json]:
        slot = self.slots[number]
        told: dict[str, Json] = {"id": number, "n_ctx": self.context, "is_processing": False}
        if slot.counted:
            told |= {"n_prompt_tokens": len(slot.tokens), "next_token": [{"n_decoded": 0}]}
        return told

    def _move(self, slot: FakeSlot, action: str, number: str, body: Any) -> Answered:
        name = body["filename"]
        if "/" in name:
            return _wrong("Invalid filename")
        file, timings = self.folder / name, {f"{action}_ms": self.move_ms}
        told: dict[str, Json] = {"id_slot": int(number), "filename": name, "timings": timings}
        if action == "save":
            file.write_text(json.dumps(slot.tokens))
            return 200, {**told, "n_saved": len(slot.tokens), "n_written": file.stat().st_size}
        if not file.exists():
            return _wrong("Unable to restore slot: No available space or invalid slot save file")
        slot.tokens, slot.counted = json.loads(file.read_text()), False
        return 200, {**told, "n_restored": len(slot.tokens), "n_read": file.stat().st_size}

    def _complete(self, body: Any) -> Json:
        slot = self._chosen(body.get("id_slot"))
        words = [
            word
            for turn in body["messages"]
            for word in (f"<{turn['role']}>", *str(turn["content"]).split())
        ]
        kept = 0
        while kept < min(len(words) - 1, len(slot.tokens)) and words[kept] == slot.tokens[kept]:
            kept += 1
        slot.tokens, slot.counted, slot.used = [*words, "fine"], True, len(self.asked)
        read = len(words) - kept
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "fine"},
                }
            ],
            "usage": {
                "prompt_tokens": len(words),
                "completion_tokens": 2,
                "total_tokens": len(words) + 2,
                "prompt_tokens_details": {"cached_tokens": kept},
            },
            "timings": {
                "cache_n": kept,
                "prompt_n": read,
                "prompt_ms": read * self.prompt_ms,
                "predicted_n": 2,
            },
        }

    def _chosen(self, number: int | None) -> FakeSlot:
        if number is not None:
            return self.slots[number]
        return min(self.slots, key=lambda slot: slot.used)


def _wrong(message: str, status: int = 400) -> Answered:
    return status, {"error": {"code": status, "message": message, "type": "invalid_request_error"}}


def played(server: LlamaServer, asked: Asked) -> Answer:
    """Return the answer of *server* as one that a socket gives, streamed where that was asked."""
    status, told = server.answer(asked.method, asked.path, asked.raw)
    body: Any = asked.body if asked.raw else {}
    if not body.get("stream"):
        return script.body(told, status=status)
    assert isinstance(told, dict)
    chunk = {**told, "object": "chat.completion.chunk"}
    timings = {"timings": chunk.pop("timings")}
    delta = {"role": "assistant", "content": "fine"}
    frames = [
        {**chunk, "choices": [{"index": 0, "finish_reason": None, "delta": delta}]},
        {**chunk, **timings, "choices": [{"index": 0, "finish_reason": "stop", "delta": {}}]},
    ]
    return script.sse(
        *(b"data: " + script.dumps(frame) + b"\n\n" for frame in frames), script.done()
    )


@dataclass(slots=True)
class _Whole:
    status: int
    body: bytes
    headers: Mapping[str, str]

    async def read(self) -> bytes:
        body, self.body = self.body, b""
        return body

    def wait_until(self, moment: float) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class LlamaTransport:
    """Reaches *server* without a socket; *prefix* is the path of its base URL.

    What ``late`` has for a path happens after the answer was made and before it is read.
    """

    server: LlamaServer
    prefix: str = ""
    mask: Mask = field(default_factory=lambda: Mask({}))
    late: dict[str, Callable[[], None]] = field(default_factory=dict)

    async def post(self, call: HttpCall, until: float) -> _Whole:
        if self.server.down:
            raise UpstreamFailed("No connection to the provider.", "transport", retryable=True)
        status, body = self.server.answer(call.method, self.prefix + call.path, call.body)
        if happens := self.late.get(call.path):
            happens()
        return _Whole(status, json.dumps(body).encode(), {"content-type": "application/json"})
