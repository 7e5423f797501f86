"""The gateway: one HTTP server between applications and their language models."""
