"""Variance components and the products that they are made of."""
