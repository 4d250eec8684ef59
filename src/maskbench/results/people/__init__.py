"""Labels by people: drawn scenarios, what is shown of them, labels on disk, and what they come to by the same rules."""
