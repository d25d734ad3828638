"""What a response says: its statements, the words of labels, and the label."""
