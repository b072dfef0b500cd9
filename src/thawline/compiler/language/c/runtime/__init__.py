"""What every reader in C starts with. The text of these files, one after the other, is the head of a reader."""
