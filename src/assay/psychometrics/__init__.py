"""How far do scores carry, and what would another rater or lesson buy?"""
