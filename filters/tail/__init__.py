"""What filters postpone: classes of a host, which of them is served when nothing else is due, and when the rest is left alone. Pure."""
