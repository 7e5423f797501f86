"""What is answered, and how a body is read: strictly, and not without end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from router_service.groundwork.body import Unreadable, parse

ModelT = TypeVar("ModelT", bound=BaseModel)
LONGEST_TEXT: Final = 500
"""Characters of a name: longer ones, and those with a NUL, are refused."""


class Refused(Exception):
    """A request that cannot be served; ``reply`` says so."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.reply = error_reply(status, code, message, param)


def json_reply(body: Any, status: int = 200) -> Response:
    """Return *body* as JSON."""
    return Response(orjson.dumps(body), status, media_type="application/json")


def model_reply(body: BaseModel) -> Response:
    """Return *body* as JSON."""
    return Response(body.model_dump_json(by_alias=True), media_type="application/json")


def error_reply(status: int, code: str, message: str, param: str | None = None) -> Response:
    """Return an error as every path answers with it."""
    told: dict[str, Any] = {"code": code, "message": message}
    if param is not None:
        told["param"] = param
    return json_reply({"error": told}, status)


async def body_of(request: Request, most: int) -> bytes:
    """Return the body of *request*.

    Raises:
        Refused: It has more than *most* bytes.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise Refused(413, "too_large", f"The body has more than {most} bytes.")
    return bytes(body)


def read_as(model: type[ModelT], raw: bytes) -> ModelT:
    """Return what *raw*, strict JSON, spells.

    Raises:
        Refused: It is no JSON object, or none of this shape.
    """
    try:
        tree = parse(raw)
    except Unreadable as error:
        raise Refused(400, "invalid_json", str(error), error.param) from None
    _check_texts(tree, "")
    try:
        return model.model_validate_json(raw, strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, fault["loc"]))[:LONGEST_TEXT]
        said = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            said = "there is no such field"
        raise Refused(400, "invalid_field", f"{at}: {said}" if at else said, at or None) from None


def _check_texts(value: Any, at: str) -> None:
    """Refuse what no name of anything can be."""
    if isinstance(value, str):
        _check_text(value, at)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            _check_text(name, at)
            _check_texts(inner, f"{at}.{name}" if at else name)
    elif isinstance(value, list) and not (value and isinstance(value[0], float)):
        for number, inner in enumerate(value):
            _check_texts(inner, f"{at}.{number}")


def _check_text(text: str, at: str) -> None:
    if len(text) > LONGEST_TEXT or "\0" in text:
        shown = at[:LONGEST_TEXT].replace("\0", "")
        message = f"{shown}: a name has at most {LONGEST_TEXT} characters, and none is a NUL"
        raise Refused(400, "invalid_field", message, shown or None)
