"""What was asked and who answered what: the table, the scales, the formats, the study."""
