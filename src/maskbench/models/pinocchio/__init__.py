"""pinocchio, the small model that comes along: its network, and the judge that reads its language by rule."""
