"""Does a judge know how annotators differ, and how many judges is a panel worth?"""
