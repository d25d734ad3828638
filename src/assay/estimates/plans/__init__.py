"""What to label next, and at which price."""
