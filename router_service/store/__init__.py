"""Where what was observed is kept: in a database, beside the gateway's tables or alone."""
