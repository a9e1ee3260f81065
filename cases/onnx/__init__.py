"""ONNX's GRU operator."""
