"""Ollama's API, as its clients speak it to us."""

from gateway.wire.ollama.dialect import OllamaChat, OllamaGenerate
from gateway.wire.ollama.embed import OllamaEmbed, OllamaEmbeddings

__all__ = ["OllamaChat", "OllamaEmbed", "OllamaEmbeddings", "OllamaGenerate"]
