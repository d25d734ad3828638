"""What was asked and who answered: a study's folder (`definition`, `schema`) and its database (`store`)."""
