// How numbers are written.

const MINUS = "\u2212";

export function decimals(value, places = 2) {
  const written = Math.abs(value).toFixed(places);
  return value < 0 && Number(written) !== 0 ? MINUS + written : written;
}

export function percent(share) {
  if (share >= 0.0995) return `${Math.round(share * 100)}%`;
  if (share >= 0.001) return `${(share * 100).toFixed(1)}%`;
  return "<0.1%";
}

// How many tries a probability with this -log would take, in two digits.
export function tries(surprise) {
  const count = Math.exp(surprise);
  if (count < 9.95) return count.toFixed(1);
  const unit = 10 ** (Math.floor(Math.log10(count)) - 1);
  return (Math.round(count / unit) * unit).toLocaleString("en");
}
