"""Case specs: YAML that enumerates an operator's cases, read strictly."""
