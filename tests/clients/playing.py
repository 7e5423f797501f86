"""A scripted model: it says its turns in whatever dialect and form it is asked for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from techniques.core.json import Json, JsonObject
from tests.e2e.turns import Called, Turn, streamed, whole
from tests.fakes.script import Answer, dumps, error
from tests.fakes.upstream import Asked, Choose

Says: TypeAlias = Turn | Answer | Callable[[Asked], Turn]
_DIALECTS: Final = {"/chat/completions": "oa", "/messages": "an", "/responses": "rs"}


def dialect_of(asked: Asked) -> str | None:
    """Return which dialect *asked* is in, as the names of models begin."""
    path = asked.path.partition("?")[0]
    return next((name for end, name in _DIALECTS.items() if path.endswith(end)), None)


def spoken(asked: Asked, turn: Turn) -> Answer:
    """Return *turn* as who asked wants to have it."""
    dialect = dialect_of(asked)
    if dialect is None:
        return error(404, f"Nothing is at {asked.path}.")
    return (streamed if asked.body.get("stream") else whole)(dialect, turn)


def speaks(*says: Says) -> Choose:
    """Answer the coming calls with *says*, one each; what comes after them fails."""
    left = deque(says)

    def choose(asked: Asked) -> Answer:
        if not left:
            return error(500, "The script has no answer left.")
        said = left.popleft()
        if isinstance(said, Answer):
            return said
        return spoken(asked, said if isinstance(said, Turn) else said(asked))

    return choose


def formed(value: Json) -> Callable[[Asked], Turn]:
    """Say *value* as a client wants structured output: by a tool if it offers one, else as text."""

    def say(asked: Asked) -> Turn:
        text = dumps(value).decode()
        names = list(tool_names(asked.body))
        return Turn(calls=[Called("call_1", names[0], text)]) if names else Turn(parts=(text,))

    return say


def tool_names(body: JsonObject) -> Iterator[str]:
    """Yield the names of the tools that *body* offers."""
    for tool in body.get("tools") or ():
        named = tool.get("function", tool)
        if "name" in named:
            yield named["name"]


def results(asked: Asked) -> list[tuple[str, str]]:
    """Return the results of tools in *asked*, each with the id of its call, in order."""
    body = asked.body
    if dialect_of(asked) == "oa":
        told = [turn for turn in body["messages"] if turn["role"] == "tool"]
        return [(turn["tool_call_id"], _text(turn["content"])) for turn in told]
    if dialect_of(asked) == "rs":
        told = [item for item in body["input"] if item.get("type") == "function_call_output"]
        return [(item["call_id"], _text(item["output"])) for item in told]
    blocks = [
        block
        for turn in body["messages"]
        if isinstance(turn["content"], list)
        for block in turn["content"]
        if block["type"] == "tool_result"
    ]
    return [(block["tool_use_id"], _text(block["content"])) for block in blocks]


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)
