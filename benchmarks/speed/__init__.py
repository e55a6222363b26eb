"""What things cost: CPU seconds, memory, pages a second."""
