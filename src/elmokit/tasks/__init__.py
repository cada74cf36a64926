"""The six tasks of the ELMo paper, with and without ELMo."""
