"""The training of pinocchio: world and grammar come from `maskbench.pinocchio`, the rest is here."""
