// Predictions as they are made and resolved, and the switch as somebody turns it.

import { follow, refreshParts, settle } from "./live.js";

const REFRESH_MS = 1_000;
const refreshSoon = settle(refreshParts, REFRESH_MS);
let isOn = null;

follow("/live/speculation/", {
  onMessage: (message) => {
    const isTurned = isOn !== null && isOn !== message.is_on;
    isOn = message.is_on;
    if (isTurned) location.reload(); // the frame around the page shows the switch
    else refreshSoon();
  },
});
