"""The user's own files and objects in, embedding files out."""
