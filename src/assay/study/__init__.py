"""What was asked and who answered: the study's folder (`definition`), what it may say (`schema`), its database (`store`)."""
