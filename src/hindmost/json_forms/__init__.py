"""The JSON documents of ``--json``, declared: one form for each, from which its schema is made.

Keys that may be missing are `NotRequired`. A float may be null, as NaN and infinity have no other
form in JSON. Open dictionaries (``dict[str, Any]``) have keys that depend on the data, such as the
parameters of laws.
"""
