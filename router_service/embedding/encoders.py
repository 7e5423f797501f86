"""Makes the encoder that is configured. What it needs is imported only then."""

from __future__ import annotations

from router_service.embedding.remembering import Embed, Remembering
from router_service.embedding.settings import EmbeddingSettings
from router_service.embedding.unusable import Unusable
from router_service.embedding.upstream import Post, UpstreamVectors


def encoder_of(settings: EmbeddingSettings, post: Post | None = None) -> Remembering:
    """Return the encoder of *settings*; *post* carries the calls of one that is upstream.

    This takes up to some tenths of a second, for what is imported and loaded.

    Raises:
        Unusable: It cannot be had here.
    """
    name, embed = _made(settings, post)
    return Remembering(name, embed, settings.characters, settings.remembered)


def _made(settings: EmbeddingSettings, post: Post | None) -> tuple[str, Embed]:
    match settings.kind:
        case "mixed":
            from router_service.embedding.mixed import MixedVectors

            mixed = MixedVectors()
            return mixed.name, mixed
        case "static":
            from router_service.embedding.static import StaticVectors

            static = StaticVectors()
            return static.name, static
        case "hashed":
            from router_service.embedding.hashed import HashedPieces

            pieces = HashedPieces()
            return pieces.name, pieces
        case "fastembed":
            from router_service.embedding.fast import FastVectors

            fast = FastVectors(settings.model, settings.folder)
            return fast.name, fast
        case "upstream":
            if post is None:
                raise Unusable("nothing is there to call router.embedding.url with")
            upstream = UpstreamVectors(settings, post)
            return upstream.name, upstream
