"""Checks on the subject: placebo, provided facts understood, self-reports, lies that the reasoning knew."""
