"""Sigma rules, read by pySigma, as streams of the pattern model. Only this folder imports pySigma."""
