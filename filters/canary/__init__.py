"""Canaries: is a host still the one whose pages were kept, or does a wall answer for it?"""
