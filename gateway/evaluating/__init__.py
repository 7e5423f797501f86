"""The command ``eval``: compares ways to answer on the same prompts, over HTTP."""
