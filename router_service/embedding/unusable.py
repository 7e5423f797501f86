"""What is said where an encoder cannot be had."""

from __future__ import annotations


class Unusable(Exception):
    """An encoder cannot be had; the message says what is missing."""


class Unembedded(Exception):
    """A text could not be embedded this time; the message says why, for a log."""
