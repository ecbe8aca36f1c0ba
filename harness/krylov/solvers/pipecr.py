"""Pipelined conjugate residuals: they leave the pattern of pipelined conjugate gradients."""

from dataclasses import replace

from hindmost.harness.krylov.solvers.pipecg import PIPECG

PIPECR = replace(PIPECG, name="pipecr")
