"""Making vector files: drawing inputs, answering in chunks, writing files."""
