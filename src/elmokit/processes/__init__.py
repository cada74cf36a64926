"""Work that is shared among child processes: the caller's side, and theirs."""
