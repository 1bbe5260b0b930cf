"""The one problem that every library plays: ten Bernoulli arms for 20,000 rounds."""

HORIZON = 20_000
MEANS = (0.5, 0.45, 0.4, 0.35, 0.3, 0.55, 0.6, 0.25, 0.65, 0.2)
ARMS = len(MEANS)
