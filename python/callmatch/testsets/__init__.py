"""Tests: what an agent is given, what it is held to, and what became of it."""

from callmatch.testsets.agents import Agent
from callmatch.testsets.results import TestResult, TestResults, roll_up
from callmatch.testsets.testset import Test, TestSet

__all__ = ["Agent", "Test", "TestResult", "TestResults", "TestSet", "roll_up"]
