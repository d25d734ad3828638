"""A statistic -> value, interval, result: the one way in which assay estimates."""
