"""Cases in other formats: reading them, and making vector files from them."""
