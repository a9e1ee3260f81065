"""HOW the answers are made: inputs, the GRU itself, exact evaluation, the generate command."""
