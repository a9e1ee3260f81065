"""What a runtime can do, feature by feature: `grucible profile`."""
