"""What a token's vector is put together from."""
