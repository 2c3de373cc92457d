"""Time and memory against Algorithm 1 as written (`ccassg.model.algorithm`); never accuracy."""
