// A line to the live updates: connects again with backoff, resumes, and says how the line is.

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 10_000;
const CAUGHT_UP_MS = 4_000;

// Close codes of gateway_project/live/mailbox.py.
const SIGNED_OUT = 4401;
const RIGHTS_CHANGED = 4409;
const FINAL = new Map([
  [SIGNED_OUT, "signed out; reload the page"],
  [4403, "your role does not allow this"],
  [4404, "no longer there for you"],
  [1003, "refused"],
]);
const TOO_MANY_PAGES = 4430;
const WORDS = {
  connecting: ["muted", "connecting"],
  live: ["ok", "live"],
  cut: ["bad", "cut off, connecting again"],
  crowded: ["bad", "cut off: too many of your pages are open; trying again"],
  stalled: ["warn", "the database is away, waiting"],
  caught: ["ok", "caught up"],
};

/** Show the state of the line in words, wherever the page has a place for it. */
function say(kind, word) {
  for (const place of document.querySelectorAll("[data-live]")) {
    place.className = `badge badge--${kind}`;
    place.textContent = word;
  }
}

/**
 * Follow a feed until the page goes away.
 *
 * @param {string} path - Such as `/live/runs/`.
 * @param {object} options
 * @param {(message: object) => void} options.onMessage - Takes each message.
 * @param {() => number} [options.last] - Number of the last event that the page knows.
 */
export function follow(path, { onMessage, last }) {
  let wait = FIRST_WAIT_MS;
  let wasCut = false;
  let timer = 0;
  let socket = null;

  const connect = () => {
    const address = new URL(path, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    if (last) address.searchParams.set("after", String(last()));
    socket = new WebSocket(address);
    socket.addEventListener("message", (event) => {
      const message = JSON.parse(event.data);
      if (message.type === "stalled") {
        say(...WORDS.stalled);
        return;
      }
      wait = FIRST_WAIT_MS;
      say(...(wasCut ? WORDS.caught : WORDS.live));
      if (wasCut) setTimeout(() => socket.readyState === WebSocket.OPEN && say(...WORDS.live), CAUGHT_UP_MS);
      wasCut = false;
      onMessage(message);
    });
    socket.addEventListener("close", (event) => {
      if (FINAL.has(event.code)) {
        say("muted", FINAL.get(event.code));
        return;
      }
      wasCut = true;
      say(...(event.code === TOO_MANY_PAGES ? WORDS.crowded : WORDS.cut));
      const pause = event.code === RIGHTS_CHANGED ? 0 : wait * (0.5 + Math.random() / 2);
      wait = Math.min(wait * 2, MAX_WAIT_MS);
      timer = setTimeout(connect, pause);
    });
  };

  addEventListener("pagehide", () => {
    clearTimeout(timer);
    if (socket) socket.close();
  });
  addEventListener("pageshow", (event) => event.persisted && connect());
  addEventListener("online", () => {
    if (socket.readyState === WebSocket.OPEN) return;
    clearTimeout(timer);
    connect();
  });
  say(...WORDS.connecting);
  connect();
}

/** Return a badge of a state, as the server renders it. */
export function makeBadge(state) {
  const known = document.querySelector(`template[data-badge="${CSS.escape(state)}"]`);
  if (known) return known.content.firstElementChild.cloneNode(true);
  const badge = document.createElement("span");
  badge.className = "badge badge--muted";
  badge.textContent = state;
  return badge;
}

/** Render a duration with its unit. */
export function formatDuration(ms) {
  if (ms === null || ms === undefined) return "—";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/**
 * Fetch the page anew and replace the parts that carry the same `data-refresh`.
 *
 * Details that the page itself opened carry `data-opened`.
 */
export async function refreshParts() {
  let html;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) return;
    html = await response.text();
  } catch {
    return; // the page stays as it is until the next message asks for it again
  }
  const fresh = new DOMParser().parseFromString(html, "text/html");
  for (const part of document.querySelectorAll("[data-refresh]")) {
    // Somebody is about to use it, or is reading in what they opened.
    const isRead = part.querySelector("details[open]:not([data-opened])");
    if (part.contains(document.activeElement) || isRead) continue;
    const name = CSS.escape(part.dataset.refresh);
    const found = fresh.querySelector(`[data-refresh="${name}"]`);
    if (found) part.replaceChildren(...found.childNodes);
  }
}

/** Return a function that calls another once the calls to it have ceased, spread over viewers. */
export function settle(action, ms) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, ms * (0.5 + Math.random()));
  };
}
