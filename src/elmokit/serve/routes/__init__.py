"""The routes: one file each, which reads the fields, has them computed and writes the answer."""
