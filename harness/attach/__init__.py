"""Programs that hindmost attaches to: from what their ranks left to run files.

``raw`` reads the raw files of the ranks (``raw_json``: what their JSON says), ``sections`` matches
their solves and puts them together, ``bodies`` finds the iterations, ``header`` says what is known
of them, ``stopped`` where ranks stood that were ended. ``section_group`` writes run files, with the
ranks as threads of one process (``ranks``), and ``convert`` does all that for a raw folder.
"""
