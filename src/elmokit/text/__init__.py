"""From text to numbers: tokenising, vocabularies, characters."""
