"""The benchmark: what the gateway costs beside a bare relay, in one interleaved run."""
