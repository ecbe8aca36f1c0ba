"""The compiled loops of the robust method; needs numba: import inside functions.

Only what every night or every place of a change goes through is compiled. What goes through
segments is Python: there are few, and to compile that takes as long as all of these loops.
"""

from __future__ import annotations

from hindmost.models import sorting
from hindmost.models.changepoint.robust import comparison, level
from hindmost.models.changepoint.robust import partition as partitioning
from hindmost.models.compiled import declared

median = declared("(f8[::1],)")(sorting.median)
level_of = declared("(f8[::1], f8)")(level.level_of)
levels_of = declared("(f8[::1], i8[::1], f8[::1], f8)")(level.levels_of)
moments_of = declared("(f8[::1], i8, i8, f8, f8)")(level.moments_of)
cost_of = declared("(f8[::1], i8, i8, f8[::1], f8, f8, f8, f8)")(level.cost_of)
fit_line = declared("(f8[::1], i8, i8, f8[::1], f8[::1], f8, f8)")(level.fit_line)
add_place_costs = declared("(f8[::1], i8, i8, i8, f8[::1], f8, f8, b1[::1], i8, f8[::1])")(
    level.add_place_costs
)
compare = declared("(f8[::1], UniTuple(i8, 2), UniTuple(i8, 2), f8[::1], f8, f8, f8, f8)")(
    comparison.compare
)
level_grid = declared("(f8[::1], f8, f8, f8)")(partitioning.level_grid)
partition = declared("(f8[::1], f8[::1], f8[::1], f8, f8, f8, i8, b1[::1])")(partitioning.partition)
