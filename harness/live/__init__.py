"""The live feed of a run, on its ranks; docs/adr/0006-live-feed.md says how and why."""
