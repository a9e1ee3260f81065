"""From case specs to cases: products, covering arrays and lists."""
