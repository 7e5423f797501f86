"""Which path of the API a client means whose base URL is set a little otherwise."""

from __future__ import annotations

from typing import Final

_AREAS: Final = frozenset({"chat", "completions", "embeddings", "messages", "models", "responses"})
"""What comes after ``/v1`` in paths of the vendors' APIs."""


def meant(path: str) -> str:
    """Return the path that *path* stands for: with one ``/v1``, and no slash too many.

    Only paths of the vendors' APIs stand for another, and of Ollama's, which has no ``/v1``; any
    other is returned as it is.
    """
    parts = [part for part in path.split("/") if part]
    after = next((at for at, part in enumerate(parts) if part != "v1"), len(parts))
    if after < len(parts) and parts[after] in _AREAS:
        return "/".join(("", "v1", *parts[after:]))
    if after < len(parts) and parts[after] == "api":
        return "/".join(("", *parts[after:]))
    return path
