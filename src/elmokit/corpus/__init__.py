"""Text corpora: reading them from disk, preparing them once, streaming them to a training."""
