"""What the filters save and lose, and how well their algorithms judge."""
