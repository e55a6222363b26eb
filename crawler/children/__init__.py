"""Child processes for work that could kill an agent: parsing large pages, studies of sites. And the record of which work crashed a
process.
"""
