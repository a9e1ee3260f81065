"""WHERE the answers live: the HDF5 format, its reader and writer, and the core vectors."""
