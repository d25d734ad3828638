"""What was asked and who answered: the study's folder and its store."""
