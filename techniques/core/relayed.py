"""What is asked of models beside conversations: it is relayed, and never anything else."""

from __future__ import annotations

from typing import Final

EMBEDDINGS: Final = "openai_embeddings"
"""The dialect of a request for embeddings."""
COMPLETIONS: Final = "openai_completions"
"""The dialect of a legacy completion: a text to go on with."""
ALONE: Final = frozenset({EMBEDDINGS, COMPLETIONS})
"""Dialects of which nothing is translated, and with which no technique can do anything."""
EMBEDDING: Final = "embedding"
"""The role of a call for embeddings."""
