"""Results -> a verdict a person can read: sentences, tables, one offline page. All rounding happens here."""
