"""How a process that serves writes its log."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import TextIO, cast

import structlog


class Log:
    """Where lines go: to *stream* while it takes them. Nothing ends because it does not.

    A terminal may be closed, who reads a pipe may leave, a disk may be full. So nothing waits in
    the stream's own buffer, either: what is in there at the end of the process decides its code.
    """

    def __init__(self, stream: TextIO) -> None:
        self._encoding = stream.encoding
        self._sink = getattr(stream.buffer, "raw", stream.buffer)

    def write(self, text: str) -> int:
        """Write *text*, if it can be."""
        left = memoryview(text.encode(self._encoding, "backslashreplace"))
        with suppress(OSError):
            while left and (written := self._sink.write(left)):
                left = left[written:]
        return len(text)

    def flush(self) -> None:
        """Do nothing: all that could be written is."""


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
        logger_factory=structlog.WriteLoggerFactory(log),
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
