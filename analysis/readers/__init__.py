"""Files of other tools, and run files, in: as experiments over parameters, or as histories."""
