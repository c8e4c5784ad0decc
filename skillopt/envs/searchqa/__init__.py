"""SearchQA: short answers to clues, read from noisy search results."""
