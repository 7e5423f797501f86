"""Who made a signature of reasoning: only its maker can read it, and refuses anyone else's.

Anthropic's stand as they came. What a provider of OpenAI's Responses API encrypts carries a mark in
front wherever it is inside the gateway, or with a client of another dialect, who hands it back.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Final

import orjson

from techniques.core.json import Json

MARK: Final = "openai_responses:"
ANTHROPICS: Final = "anthropic:"
REDACTED: Final = "anthropic.redacted:"
"""What stands before Anthropic's signatures, and its reasoning that cannot be read, where a client
of the Responses API keeps them as what is encrypted."""

CHATS: Final = "openai_chat:"
"""What stands before reasoning that only the host of a chat completion can read, and before what it
signed: the details that it gave, which must come back to it as they were."""


def marked(encrypted: str, item: str = "") -> str:
    """Return the signature that stands for reasoning which a Responses API has *encrypted*.

    *item* is the id of the item that it came in: it is bound to that, and refused under another.
    """
    return f"{MARK}{item}:{encrypted}"


def encrypted_of(signature: str | None) -> str | None:
    """Return what a Responses API has encrypted, None if *signature* is another maker's."""
    parted = _parted(signature)
    return None if parted is None else parted[1]


def item_of(signature: str | None) -> str:
    """Return the id of the item that a Responses API's *signature* is bound to, "" if unknown."""
    parted = _parted(signature)
    return "" if parted is None else parted[0]


def _parted(signature: str | None) -> tuple[str, str] | None:
    if signature is None or not signature.startswith(MARK):
        return None
    item, _, encrypted = signature.removeprefix(MARK).partition(":")
    return item, encrypted


def is_anthropics(signature: str | None) -> bool:
    """Tell whether *signature* is one, and Anthropic's."""
    return bool(signature) and not is_chats(signature) and encrypted_of(signature) is None


def is_chats(signature: str | None) -> bool:
    """Tell whether *signature* stands for details of a chat host's."""
    return signature is not None and signature.startswith(CHATS)


def packed(details: Sequence[Json]) -> str:
    """Return the data of a block that stands for a chat host's *details*, which none can read."""
    return CHATS + urlsafe_b64encode(orjson.dumps(list(details))).decode()


def details_of(data: str) -> list[Json] | None:
    """Return the details that a chat host had given, None if *data* is another maker's."""
    if not data.startswith(CHATS):
        return None
    try:
        details: Json = orjson.loads(urlsafe_b64decode(data.removeprefix(CHATS)))
    except ValueError:
        details = None
    return details if isinstance(details, list) else []
