"""An intervention in doses: plan, runs, curve, damage, and a conclusion in words."""
