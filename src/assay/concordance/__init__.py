"""Do annotators agree, and on which scale best?"""
