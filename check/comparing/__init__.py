"""What an upgrade changed: two reports of `grucible check`, case by case."""
