"""Who made a signature of reasoning: only its maker can read it, and refuses anyone else's.

Anthropic's stand as they came. What a provider of OpenAI's Responses API encrypts carries a mark in
front wherever it is inside the gateway, or with a client of another dialect, who hands it back.
"""

from __future__ import annotations

from typing import Final

MARK: Final = "openai_responses:"
ANTHROPICS: Final = "anthropic:"
REDACTED: Final = "anthropic.redacted:"
"""What stands before Anthropic's signatures, and its reasoning that cannot be read, where a client
of the Responses API keeps them as what is encrypted."""


def marked(encrypted: str) -> str:
    """Return the signature that stands for reasoning which a Responses API has *encrypted*."""
    return MARK + encrypted


def encrypted_of(signature: str | None) -> str | None:
    """Return what a Responses API has encrypted, None if *signature* is another maker's."""
    if signature is None or not signature.startswith(MARK):
        return None
    return signature.removeprefix(MARK)


def is_anthropics(signature: str | None) -> bool:
    """Tell whether *signature* is one, and Anthropic's."""
    return bool(signature) and encrypted_of(signature) is None
