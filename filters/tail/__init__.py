"""The tail: held URLs in classes of their host. Which class is served when the host has nothing else, and when the rest is closed. Pure."""
