"""Do two texts carry the same ideas? What people see, and which measures see it too."""
