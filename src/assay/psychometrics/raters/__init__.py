"""Raters as instruments: severity, consistency and fairness of every person and every judge."""
