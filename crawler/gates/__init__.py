"""What decides before a request: the gates that links pass, and the rules of robots.txt."""
