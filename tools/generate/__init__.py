"""`make generate`: everything in `generated/`, derived from the specs in `schemas/`."""
