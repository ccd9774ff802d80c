// Loads the page again until the figures that are being computed are on it.

const RELOAD_MS = 2000;

setTimeout(() => location.reload(), RELOAD_MS);
