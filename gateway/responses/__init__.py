"""Responses that clients can come back to: what of a conversation is kept, and how it goes on."""
