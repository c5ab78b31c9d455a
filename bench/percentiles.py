"""Percentiles of measurements."""
import math


def nearest_rank(ordered, percent):
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]
