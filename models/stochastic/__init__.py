"""Stochastic models of iterations under noise, and the exact recursion that betters them.

After H. Morgan, P. Sanan, M. Knepley and R. Mills, "The impact of noise on pipelined Krylov method
performance"; equation numbers are theirs.
"""
