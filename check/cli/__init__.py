"""The commands of this room: what they take, and what they print."""
