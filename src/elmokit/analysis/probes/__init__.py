"""What each layer of a model knows: word classes, word senses, and whether two uses are alike."""
