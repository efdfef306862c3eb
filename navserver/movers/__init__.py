"""Movers: bodies that walk, keep apart and arrive, stepped together over flat arrays."""
