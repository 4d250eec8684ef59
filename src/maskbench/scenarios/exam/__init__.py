"""The exam of a judge: replies whose verdict is known, the sitting, and the score."""
