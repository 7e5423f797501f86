"""Reads how many tokens an answer used."""

from __future__ import annotations

from pricing.usage import Usage, counted, is_count
from techniques.core.json import Json, JsonObject

_COUNTS = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "ephemeral_1h_input_tokens",
    "output_tokens",
    "thinking_tokens",
)


class UsageTotal:
    """The usage of one answer, which a stream reports at its start and again at its end.

    Both reports are totals, and each may lack what the other has. The input counts never shrink
    (server tools make them grow); the output of the last report counts, since the first one
    already holds a token or so. ``mode`` is how the call is served, as far as it is told,
    ``searches`` how often the web was searched.
    """

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._faulty: set[str] = set()
        self.mode = ""
        self.searches = 0

    def add(self, report: Json) -> Usage | None:
        """Take *report* in; return the total, None if *report* is no usage object."""
        if not isinstance(report, dict):
            return None
        flat: JsonObject = dict(report)
        for name in ("cache_creation", "output_tokens_details"):
            detail = report.get(name)
            if isinstance(detail, dict):
                flat.update(detail)
        self.mode = _mode(report) or self.mode
        self.searches = max(self.searches, _searches(report))
        for name, before in self._counts.items():
            told = flat.get(name)
            if told is None:
                continue
            count = counted(told)
            self._counts[name] = count if name == "output_tokens" else max(before, count)
            if is_count(told):
                self._faulty.discard(name)
            else:
                self._faulty.add(name)
        return self._usage()

    def _usage(self) -> Usage:
        counts = self._counts
        read, written = counts["cache_read_input_tokens"], counts["cache_creation_input_tokens"]
        hour = min(counts["ephemeral_1h_input_tokens"], written)
        return Usage(
            input_tokens=counts["input_tokens"] + read + written,
            output_tokens=counts["output_tokens"],
            cache_read_tokens=read,
            cache_write_tokens=written - hour,
            cache_write_1h_tokens=hour,
            reasoning_tokens=min(counts["thinking_tokens"], counts["output_tokens"]),
            faulty=bool(self._faulty),
        )


def _mode(report: JsonObject) -> str:
    mode = report.get("service_tier") if report.get("speed") != "fast" else "fast"
    return mode if isinstance(mode, str) else ""


def _searches(report: JsonObject) -> int:
    done = report.get("server_tool_use")
    return counted(done.get("web_search_requests")) if isinstance(done, dict) else 0
