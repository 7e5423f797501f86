"""Conversations that are too long for their model: what of them may go, and what that costs."""
