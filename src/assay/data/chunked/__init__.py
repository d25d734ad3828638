"""Folders of Parquet files that do not fit in memory: read in chunks of whole items, and stored as arrays."""
