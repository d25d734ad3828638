"""The study's database: what was asked, who was to answer, and every answer that was ever given. All SQL is here.

SQLite in the study folder, or PostgreSQL by URL, through the same statements. Answers are only ever
added. An assignment points to the answer that counts, so that a correction leaves what it corrects.
"""
