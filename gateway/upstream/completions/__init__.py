"""Legacy completions: a text that a model goes on with."""
