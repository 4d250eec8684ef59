"""An intervention in doses: plan, runs, curve, damage, and a verdict in words."""
