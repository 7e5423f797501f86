"""What the two APIs of OpenAI have in common, as they are spoken to a provider."""
