"""Writing lists of known findings, from what fails at present."""
