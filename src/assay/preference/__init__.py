"""Which is better, and can anyone tell?"""
