"""Time and memory, never accuracy."""
