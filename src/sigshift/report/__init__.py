"""Results made visible: the pictures, and the anatomy of one run."""
