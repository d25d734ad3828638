"""Can the judge replace an annotator? The alternative annotator test."""
