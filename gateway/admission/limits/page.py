"""The headers of one answer, as values. What cannot be read is remembered."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.admission.limits.values import LONGEST_S, amount, delay, moment

_NOTHING = "-1"  # how Azure says that it does not know
_LONGEST = 64  # of what is read as a time; more would only fill the caches
_ONE_ANSWER_S = 86_400.0  # a Date that is further from now is not this answer's


class Page:
    """The headers (lower-case names) of an answer that was read at *now*, in seconds since 1970."""

    __slots__ = ("_now", "_sent", "text", "unparsed")

    def __init__(self, headers: Mapping[str, str], now: float) -> None:
        self.text = headers.get
        self.unparsed: list[str] = []
        self._now = now
        self._sent: float | None = None

    def sent(self) -> float:
        """Return when the answer was sent: by its own ``Date``, against which its moments are."""
        if self._sent is None:
            date = moment(self.text("date", "")[:_LONGEST].strip())
            near = date is not None and abs(date - self._now) < _ONE_ANSWER_S
            self._sent = date if date is not None and near else self._now
        return self._sent

    def amount(self, name: str) -> float | None:
        """Return the amount under *name*, None if there is none."""
        text = self.text(name)
        if text is None:
            return None
        value = amount(text)
        if value is None and (text := text.strip()) != _NOTHING:
            value = amount(text)
            if value is None:
                self.unparsed.append(name)
        return value

    def delay(self, name: str) -> float | None:
        """Return the seconds until what *name* says, from the sending of the answer."""
        text = self.text(name)
        if text is None:
            return None
        seconds = None
        if len(text) <= _LONGEST:
            seconds = self._until(text) if text[4:5] == "-" else delay(text)
            if seconds is None:
                seconds = self._until(text.strip())
        if seconds is None:
            self.unparsed.append(name)
        return seconds

    def retry_after(self) -> float | None:
        """Return the seconds to wait that the headers ask for.

        ``retry-after-ms`` is finer than ``retry-after`` and goes first, unless it is zero: some
        hosts send a zero beside a true delay.
        """
        fine = self.amount("retry-after-ms")
        if fine:
            return min(fine / 1000, LONGEST_S)
        coarse = self.delay("retry-after")
        return fine if coarse is None else coarse

    def _until(self, text: str) -> float | None:
        when = moment(text)
        return delay(text) if when is None else min(max(0.0, when - self.sent()), LONGEST_S)
