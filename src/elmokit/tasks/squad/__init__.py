"""Question answering on a text."""
