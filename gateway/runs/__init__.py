"""Runs that survive: each paid sub-call is a step that is written down, and is paid for once."""
