"""The services that models are asked through: addresses, wire formats, limits."""
