"""What arms are worth for a prompt, told from what was observed of them."""
