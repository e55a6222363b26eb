"""Lets the tests of a filter that has a folder of its own use what stands beside this file: its folder is put on the path."""
