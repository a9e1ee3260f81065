"""OpenVINO's GRU operators and their case specs."""
