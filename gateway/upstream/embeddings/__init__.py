"""Embeddings, as OpenAI and most other hosts serve them."""
