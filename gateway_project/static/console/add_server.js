// Tests servers, those just registered at once, and shows what they write while they start.

const form = document.getElementById("test-form");
const status = document.getElementById("test-status");
const cards = new Map(
  [...document.querySelectorAll("[data-server]")].map((card) => [card.dataset.server, card]),
);

function show(line) {
  if (line.error) {
    status.textContent = `The test could not be made: ${line.error}`;
    return;
  }
  const card = cards.get(line.server);
  if (!card) return;
  const log = card.querySelector(".test-log");
  if (line.output) {
    log.hidden = false;
    log.textContent = line.output.join("\n");
    log.scrollTop = log.scrollHeight;
  }
  if (line.html !== undefined) {
    log.hidden = true;
    card.querySelector(".test-result").innerHTML = line.html; // rendered and escaped by the server
    const chosen = card.querySelector(`input[value=${line.failed ? "later" : "accept"}]`);
    if (chosen) chosen.checked = true;
  }
}

async function readLines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) show(JSON.parse(line));
  }
}

async function test() {
  const button = form.querySelector("button");
  button.disabled = true;
  const began = Date.now();
  const timer = setInterval(() => {
    status.textContent = `Testing… ${Math.round((Date.now() - began) / 1000)} s`;
  }, 500);
  for (const card of cards.values()) {
    const badge = document.createElement("span");
    badge.className = "badge badge--info";
    badge.textContent = "starting";
    card.querySelector(".test-result").replaceChildren(badge);
  }
  try {
    const response = await fetch(form.dataset.stream, { method: "POST", body: new FormData(form) });
    if (!response.ok || response.redirected) throw new Error(String(response.status));
    status.textContent = "Testing…";
    await readLines(response);
    if (!status.textContent.startsWith("The test")) status.textContent = "Tested.";
  } catch {
    status.textContent = "The line was cut; nothing was lost. Test again.";
  } finally {
    clearInterval(timer);
    button.disabled = false;
    button.textContent = "Test again";
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  test();
});
if (form.dataset.starts) test();
