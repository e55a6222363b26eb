"""Canaries: is a host still answering as it did when its pages were kept, or does a wall answer for it?"""
