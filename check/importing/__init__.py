"""Cases in other formats: what is read of them, and the vector files made of it."""
