"""A store's contents as lines that other programs read: tables of fields by kind, two formats, output that is whole or absent."""
