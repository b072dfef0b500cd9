"""Public tables, the columns that users see: one module a format."""
