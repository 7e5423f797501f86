"""What the gateway serves over HTTP: one module a kind of path."""
