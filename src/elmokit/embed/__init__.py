"""Contextual vectors for text: the `Elmo` object people hold, and the `ElmoLayer` module."""
