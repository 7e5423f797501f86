"""What the router is made of as a process of its own, that answers over HTTP."""
