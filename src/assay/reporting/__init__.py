"""Results as text: sentences, tables, one offline page. All rounding happens here."""
