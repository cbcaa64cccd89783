"""Ways to see inside a server from outside, and what the harness itself costs."""
