"""The comparison of embedding speeds; `compare.py` is its command."""
