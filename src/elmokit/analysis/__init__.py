"""What a biLM has learnt: neighbours in context, senses, probes of layers, weights of tasks."""
