"""elmokit inside the libraries that people already use: one file a guest."""
