// Reloads the part of a page that shows servers being contacted and tools being embedded.

const INTERVAL_MS = 2000;

async function refresh() {
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("content");
    const isEditing = document.querySelector("main input:focus, main textarea:focus");
    if (fresh && !isEditing) document.getElementById("content").replaceChildren(...fresh.childNodes);
    if (page.querySelector("[data-refresh=yes]") || isEditing) setTimeout(refresh, INTERVAL_MS);
  } catch {
    setTimeout(refresh, 2 * INTERVAL_MS);
  }
}

setTimeout(refresh, INTERVAL_MS);
