"""The parts of the commented study that ``hindmost plan --example`` prints."""
