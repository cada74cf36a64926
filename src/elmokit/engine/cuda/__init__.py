"""The biLM on a GPU: whole spans of steps as graphs, both directions in every kernel."""
