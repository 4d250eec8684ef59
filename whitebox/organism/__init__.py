"""The training of pinocchio: world and grammar come from `maskbench.scenarios.pinocchio`, the rest is here."""
