"""Studies that come with hindmost, found by name: ``hindmost plan gmres-noise``."""
