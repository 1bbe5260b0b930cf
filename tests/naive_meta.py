"""Plain twin of META's calibrated form: that of `auto` with more replays. The paper's is in naive.py."""

from naive_auto import NaiveAuto


class NaiveCalibrated(NaiveAuto):
    def __init__(self, arms, horizon, key, environment=None, replay_rate=0.01, **params):
        super().__init__(arms, horizon, key, environment, replay_rate=replay_rate, **params)


TWINS = {"meta": NaiveCalibrated}
