"""Ask a person: an annotation page, who gets which item, and the page of whoever leads the study."""
