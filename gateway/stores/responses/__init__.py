"""Where responses are kept that clients can come back to."""
