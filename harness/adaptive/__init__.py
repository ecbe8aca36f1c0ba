"""An adaptive-mesh workload like SAGE: 2-D flow and heat on cells that divide and combine."""
