"""The paper's system, in parts: the interval test, the stack of bases, the schedule of replays."""
