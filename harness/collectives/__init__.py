"""MPI's collectives, each call by itself: which there are, when a call begins, what is recorded.

``operations`` says what is called and what has to come of it, ``alignment`` lets the ranks begin a
call together, ``block`` records the calls of one collective at one size, and ``experiment`` puts
blocks into an order.
"""
