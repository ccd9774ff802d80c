// The states of servers as they change, on the list of servers and on the page of one, and how many
// tools are embedded.

import { follow, refreshParts, settle } from "./live.js";

const REFRESH_MS = 300;
const EMBEDDING_MS = 2000;
const place = document.querySelector("[data-follow]");
const only = place.dataset.only;
const refreshSoon = settle(refreshParts, REFRESH_MS);
let known = null;

/** Return whether the page shows these servers in these states, as it was rendered. */
function isShown(servers) {
  const shown = [...document.querySelectorAll("[data-server]")];
  const states = new Map(shown.map((one) => [one.dataset.server, one.dataset.state]));
  return states.size === servers.length && servers.every((one) => states.get(one.name) === one.state);
}

function show(servers) {
  const wanted = only === undefined ? servers : servers.filter((one) => one.name === only);
  const now = JSON.stringify(wanted);
  const isCurrent = known === null ? isShown(wanted) : known === now;
  const isGone = only !== undefined && known !== null && !wanted.length;
  known = now;
  if (isGone) location.reload(); // the page that comes says that it is gone
  else if (!isCurrent) refreshSoon();
}

follow(place.dataset.follow, { onMessage: (message) => show(message.servers) });

setInterval(() => {
  if (document.querySelector("[data-embedding]")) refreshParts();
}, EMBEDDING_MS);
