"""Named entities."""
