"""A model provider that exists only in this process: a seeded noisy channel."""
