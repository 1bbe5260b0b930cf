"""Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011).

A draw is a function of (key, counter) and of nothing else. So a run can be continued from any round, run on
any core, or replayed after a crash and meets the same numbers; and every policy meets the same rewards.
"""

import numpy as np

from sigshift.kernel import kernel

MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)
DROPPED_BITS = np.uint64(11)
UNIT = 2.0**-53

# What a key is for: a policy's own draws never meet those of the rewards.
POLICY_DOMAIN = 1
REWARD_DOMAIN = 2
ENVIRONMENT_DOMAIN = 3


@kernel
def philox(key, c0, c1, c2, c3):  # type: ignore[no-untyped-def]
    """Four 32-bit words (as uint64) from a 64-bit key and a counter of four 32-bit words (as uint64)."""
    k0 = key & MASK
    k1 = key >> HALF
    for _ in range(10):
        p0 = c0 * MULTIPLIER_0
        p1 = c2 * MULTIPLIER_1
        c0 = (p1 >> HALF) ^ c1 ^ k0
        c1 = p1 & MASK
        c2 = (p0 >> HALF) ^ c3 ^ k1
        c3 = p0 & MASK
        k0 = (k0 + WEYL_0) & MASK
        k1 = (k1 + WEYL_1) & MASK
    return c0, c1, c2, c3


@kernel
def uniforms(key, t, c2, c3):  # type: ignore[no-untyped-def]
    """Two independent uniforms on [0, 1) for round ``t`` and two more words of the counter."""
    r = np.uint64(t)
    w0, w1, w2, w3 = philox(key, r & MASK, r >> HALF, np.uint64(c2), np.uint64(c3))
    return float(((w0 << HALF) | w1) >> DROPPED_BITS) * UNIT, float(((w2 << HALF) | w3) >> DROPPED_BITS) * UNIT


@kernel
def uniform(key, t, stream):  # type: ignore[no-untyped-def]
    """One uniform on [0, 1) for round ``t`` of a stream."""
    first, _ = uniforms(key, t, stream, 0)
    return first


def derive(seed: int, domain: int, run: int = 0, epoch: int = 0) -> np.uint64:
    """The key of one domain, run and epoch under a seed: plain integers, so it costs no compile."""
    word = 0xFFFFFFFF
    counter = [run & word, (run >> 32) & word, epoch & word, domain & word]
    k0, k1 = seed & word, (seed >> 32) & word
    for _ in range(10):
        p0, p1 = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [(p1 >> 32) ^ counter[1] ^ k0, p1 & word, (p0 >> 32) ^ counter[3] ^ k1, p0 & word]
        k0, k1 = (k0 + 0x9E3779B9) & word, (k1 + 0xBB67AE85) & word
    return np.uint64(counter[0] | (counter[1] << 32))
