"""What a program in a sandbox may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """``seconds`` by the clock; ``memory`` and ``disk`` are bytes, the memory that of one process.

    ``processes`` counts threads too. Of what is written to an output stream ``kept`` bytes are
    handed on; who writes more than ``flood`` is stopped.
    """

    seconds: float = 10.0
    memory: int = 256 * 2**20
    disk: int = 16 * 2**20
    processes: int = 8
    files: int = 32
    kept: int = 64 * 2**10
    flood: int = 4 * 2**20
