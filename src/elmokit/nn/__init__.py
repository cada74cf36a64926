"""The modules of a biLM. They open no files and see no config object."""
