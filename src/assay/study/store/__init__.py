"""The study's database: questions, annotators and every answer. All SQL is here.

SQLite in the study folder, or PostgreSQL by URL, with the same statements. Answers are only ever added. An assignment
points to the answer that counts, so a correction keeps the answer it corrects.
"""
