"""Masks what looks like a secret, or is one of ours, in text that a provider wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from gateway.credentials import is_credential
from techniques.core.errors import UpstreamFailed

_SECRET: Final = re.compile(
    r"(?i:(?<![a-z0-9])bearer\s+)\S+"
    r"|(?<![A-Za-z0-9])(?:sk|pk|rk|xai|hf|gsk|csk|nvapi|pplx|r8|fw|AIza)[-_][A-Za-z0-9_\-*.]{6,}"
    r"|(?<![A-Za-z0-9])AIza[A-Za-z0-9_\-]{10,}"
    r"|(?i:(?<=[?&]key=)|(?<=[?&]api_key=)|(?<=[?&]api-key=))[^\s&\"']+"
    r"|\b(?=[A-Za-z]*\d)[A-Za-z0-9_]{32,}\b"
)
_SHORTEST: Final = 4
"""Characters of a credential below which masking it would only garble texts."""
_MASK: Final = "***"


def redact(text: str) -> str:
    """Return *text* with each key, bearer credential and long opaque token masked."""
    return _SECRET.sub(_MASK, text)


class Mask:
    """Masks the credentials among *headers*, whatever they look like."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        found = {word for value in _credentials(headers) for word in _spellings(value)}
        self._words = sorted(found, key=len, reverse=True)
        self._starts = {word[: _SHORTEST + 1] for word in found}

    def text(self, text: str) -> str:
        """Return *text* without them; it may have been cut in the middle of one."""
        if not any(start in text for start in self._starts):
            return text
        for word in self._words:
            text = text.replace(word, _MASK)
        for word in self._words:
            for size in range(len(word) - 1, _SHORTEST, -1):
                if text.endswith(word[:size]):
                    return text[:-size] + _MASK
        return text

    def failure(self, failed: UpstreamFailed) -> UpstreamFailed:
        """Take them out of all that *failed* says, and return it."""
        said = failed.said
        failed.message = self.text(failed.message)
        failed.args = (failed.message,)
        failed.code = self.text(failed.code)
        failed.param = failed.param and self.text(failed.param)
        failed.said = replace(
            said,
            message=self.text(said.message),
            type=said.type and self.text(said.type),
            code=said.code and self.text(said.code),
            param=said.param and self.text(said.param),
        )
        return failed


def _credentials(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if is_credential(name):
            yield value.partition(" ")[2].strip() or value  # "Bearer" and its like are no secret


def _spellings(credential: str) -> Iterator[str]:
    """Yield what a text may have instead of *credential*, a masked part of it too."""
    for word in (credential, quote(credential, safe=""), redact(credential)):
        if len(word) >= _SHORTEST:
            yield word
