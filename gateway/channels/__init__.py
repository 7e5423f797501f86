"""Channels that wrap a channel, one a file; ``stack`` has their order."""
