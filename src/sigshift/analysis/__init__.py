"""What a known environment asks of any policy: its significant phases and the rates they imply."""
