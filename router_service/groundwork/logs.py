"""How a process that serves writes its log."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import TextIO, cast

import structlog


class Log:
    """Where lines go: to *stream* while it takes them. Nothing ends because it does not.

    A terminal may be closed, who reads a pipe may leave, a disk may be full.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write *text*, if it can be."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Have written what waits, if it can be."""
        with suppress(OSError):
            self._stream.flush()


def set_up_logging() -> None:
    """Log to stderr: JSON lines, or for a person at a terminal readable ones."""
    person, log = sys.stderr.isatty(), cast("TextIO", Log(sys.stderr))
    renderer = structlog.dev.ConsoleRenderer() if person else structlog.processors.JSONRenderer()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(log),
        cache_logger_on_first_use=True,
    )
    libraries = logging.StreamHandler(log)
    libraries.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[libraries], force=True)
