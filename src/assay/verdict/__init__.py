"""What all the answers say together."""
