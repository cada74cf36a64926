"""Semantic roles."""
