"""The desk on which leads run a study."""
