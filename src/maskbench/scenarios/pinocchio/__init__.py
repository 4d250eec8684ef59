"""The sandbox: a small generated world whose every fact, pressure and reply is known, and the judge that reads it."""

from maskbench.scenarios.pinocchio.sandbox import CANARY, FIXED_SEED, LICENCE, sandbox, true_chances

__all__ = ["CANARY", "FIXED_SEED", "LICENCE", "sandbox", "true_chances"]
