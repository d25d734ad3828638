"""The structure of a table: which columns hold the item, the annotators and the labels, and what groups the items."""
