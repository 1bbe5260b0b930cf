"""Change detectors: one file each, found by its name; they tell a policy that an arm's rewards have changed."""
