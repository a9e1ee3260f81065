"""What must be refused: valid questions with one thing made wrong."""
