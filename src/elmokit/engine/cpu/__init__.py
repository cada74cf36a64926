"""The biLM on a CPU: weights packed once, no padding, few passes over memory."""
