"""Exports of a store's content for other programs: tables of fields by kind, several formats, output files that are complete or absent."""
