"""May this LLM judge stand in for human annotators, when no human label is gold?"""
