"""The exact quantities of every step of a case, and where observed states leave them."""
