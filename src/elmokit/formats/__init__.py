"""Reading and writing model files. A format opens files and builds no modules."""
