"""Running a biLM: from a checkpoint to a module, and from sentences to layers."""
