"""What an operator sees at a glance: the data behind ``/ui``."""
