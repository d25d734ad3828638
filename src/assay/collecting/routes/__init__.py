"""The addresses of the page: those of the people who answer, those of the lead, and what both need."""
