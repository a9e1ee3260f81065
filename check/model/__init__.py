"""The GRUs of a user's own model, each judged by the exact answers to its own observed inputs."""
