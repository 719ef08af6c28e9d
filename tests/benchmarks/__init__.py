"""Times and memory, as ratios or differences against a baseline in the same run; JSON on stdout.

``python -m tests.benchmarks.pages``, ``python -m tests.benchmarks.rendering``.
"""
