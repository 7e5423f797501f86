"""What techniques do to recorded answers of real models, replayed through the real gateway."""
