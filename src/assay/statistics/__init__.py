"""What each item adds, and the value of the sums: the formulas of every coefficient. Checks nothing."""
