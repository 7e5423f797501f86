"""Finds out anew what a router decides by, tries it on what was observed, and serves it."""
