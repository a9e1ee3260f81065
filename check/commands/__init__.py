"""The commands of the room: what they take, and what they print; `cli.py` names them."""
