"""Parts that several task models are made of."""
