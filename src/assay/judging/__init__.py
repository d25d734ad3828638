"""Ask a model: from items and a question to labels in the one table."""
