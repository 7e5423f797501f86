"""Ollama's API, as its clients speak it to us."""

from gateway.wire.ollama.dialect import OllamaChat, OllamaGenerate

__all__ = ["OllamaChat", "OllamaGenerate"]
