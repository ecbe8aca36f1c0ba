"""Studies that come with hindmost, found by name: ``hindmost study plan gmres-noise``."""
