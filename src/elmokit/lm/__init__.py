"""The biLM as a language model: its probabilities, its training."""
