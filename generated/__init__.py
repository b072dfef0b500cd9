"""What `make generate` derives from `schemas/`. Never edited."""
