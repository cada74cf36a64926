"""Textual entailment."""
