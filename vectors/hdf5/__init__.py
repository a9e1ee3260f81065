"""HDF5 as the format uses it: written whole, read as hostile."""
