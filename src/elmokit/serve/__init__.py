"""The HTTP server: requests of many clients joined into batches, and the page at its root."""
