// Approvals are decided by keyboard; the inbox follows what waits.

import { follow, refreshParts } from "./live.js";

const list = document.querySelector("[data-follow]");
const cards = () => [...document.querySelectorAll("[data-approval]")];

async function show(pending) {
  const wanted = new Set(pending.map((one) => one.id));
  const shown = new Set(cards().map((card) => card.dataset.approval));
  const badge = document.querySelector("[data-waiting=approvals]");
  if (badge) badge.textContent = wanted.size >= 100 ? "99+" : String(wanted.size);
  if (wanted.size === shown.size && [...wanted].every((id) => shown.has(id))) return;
  await refreshParts();
  const now = cards().map((card) => card.dataset.approval);
  const isCurrent = now.length === wanted.size && now.every((id) => wanted.has(id));
  document.querySelector("[data-changed]").hidden = isCurrent;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  const all = cards();
  if (!all.length) return;
  const position = all.findIndex((card) => card.contains(document.activeElement));
  const card = all[Math.max(0, position)];
  const find = (selector) => (list ? card : document).querySelector(selector);
  if (event.key === "j") all[Math.min(position + 1, all.length - 1)].focus();
  else if (event.key === "k") all[Math.max(position - 1, 0)].focus();
  else if (event.key === "a") find("[data-approve]")?.focus();
  else if (event.key === "r") find("[data-reject]")?.focus();
  else if (event.key === "o") find("[data-open]")?.click();
  else return;
  event.preventDefault();
});

if (list) follow(list.dataset.follow, { onMessage: (message) => show(message.pending) });
