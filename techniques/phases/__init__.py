"""What engines are made of: drafting, drawing, judging, weighing, writing. Each asks models."""
