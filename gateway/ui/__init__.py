"""The page that shows what the gateway does: a few files that a browser takes as they are."""
