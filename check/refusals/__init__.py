"""What a runtime makes of questions that it must refuse."""
