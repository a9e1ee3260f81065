"""A report in the forms people and programs read, one module each."""
