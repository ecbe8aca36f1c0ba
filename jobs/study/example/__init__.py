"""The parts of the commented study that ``hindmost study plan --example`` prints."""
