"""The commands: one for each question."""
