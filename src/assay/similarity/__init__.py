"""Two texts -> one number; knows nothing of annotators."""
