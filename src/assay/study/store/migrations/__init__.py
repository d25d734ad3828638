"""The migrations of the study's database, one file per step."""
