"""The formulas of every coefficient, as moments of items and values of their sums, without input checks."""
