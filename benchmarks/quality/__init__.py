"""What filters save and lose, and how good their algorithms are."""
