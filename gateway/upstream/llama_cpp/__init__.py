"""Servers of llama.cpp: their slots as what a call takes, and what the slots remember."""
