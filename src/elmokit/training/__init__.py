"""The training loop that pretraining and every task share; it knows neither."""
