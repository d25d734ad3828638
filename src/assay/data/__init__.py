"""The one table of labels, its scales, and the formats that are read and written."""
