"""The models before ELMo: static vectors and n-gram language models."""
