"""Exports of platforms that collect labels or trace applications: their readers and writers."""
