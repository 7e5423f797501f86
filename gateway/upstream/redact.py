"""Masks what looks like a secret in text that a provider wrote."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"(?i:\bbearer\s+)\S+"
    r"|\b(?:sk|pk|rk|xai|hf|gsk|csk|nvapi|pplx|r8|fw|AIza)[-_][A-Za-z0-9_\-*.]{6,}"
    r"|\bAIza[A-Za-z0-9_\-]{10,}"
    r"|(?i:(?<=[?&]key=)|(?<=[?&]api_key=)|(?<=[?&]api-key=))[^\s&\"']+"
    r"|\b(?=[A-Za-z]*\d)[A-Za-z0-9_]{32,}\b"
)


def redact(text: str) -> str:
    """Return *text* with each key, bearer credential and long opaque token masked."""
    return _SECRET.sub("***", text)
