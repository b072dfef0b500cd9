"""Questions in SQL: DuckDB over cold files, which stand in FROM by their paths."""
