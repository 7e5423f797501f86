"""How a process that serves writes its log."""

from __future__ import annotations

import logging
import sys

import structlog


def set_up_logging() -> None:
    """Log to stderr: JSON lines, or for a person at a terminal readable ones."""
    person = sys.stderr.isatty()
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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    libraries = logging.StreamHandler(sys.stderr)
    libraries.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[libraries], force=True)
