"""Run-time prediction of an adaptive code: machine, work, predictors, and what they decide."""
