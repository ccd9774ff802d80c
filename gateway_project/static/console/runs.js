// The list of runs, as it changes.

import { follow, makeBadge } from "./live.js";

const MAX_ROWS = 200;
const body = document.querySelector("[data-runs]");

function makeRow(run) {
  const row = document.createElement("tr");
  row.dataset.run = run.run_id;
  const head = document.createElement("th");
  head.scope = "row";
  const link = document.createElement("a");
  link.href = `/runs/${run.run_id}/`;
  const id = document.createElement("code");
  id.textContent = run.run_id.slice(0, 8);
  link.append(id);
  head.append(link);
  row.append(head);
  for (const part of ["status", "tools", "tasks", "user", "begun"]) {
    const cell = document.createElement("td");
    cell.dataset.part = part;
    if (part === "tasks") cell.className = "number nowrap";
    if (part === "tools") cell.className = "cell-wrap";
    row.append(cell);
  }
  const tools = document.createElement("span");
  tools.className = "untrusted";
  tools.textContent = run.tools.join(", ");
  row.querySelector("[data-part=tools]").append(tools);
  row.querySelector("[data-part=user]").textContent = run.user;
  row.querySelector("[data-part=begun]").textContent = "just now";
  return row;
}

function update(row, run) {
  const status = row.querySelector("[data-part=status]");
  status.replaceChildren(makeBadge(run.status));
  if (run.error_code) {
    const code = document.createElement("code");
    code.textContent = run.error_code.replaceAll("_", " ");
    status.append(" ", code);
  }
  row.querySelector("[data-part=tasks]").textContent = `${run.done} of ${run.tasks}`;
}

function apply(runs) {
  for (const run of [...runs].reverse()) {
    let row = body.querySelector(`tr[data-run="${CSS.escape(run.run_id)}"]`);
    if (!row) {
      const oldest = body.lastElementChild;
      if (oldest && body.dataset.oldest && run.created_at < body.dataset.oldest) continue;
      row = makeRow(run);
      body.prepend(row);
    }
    update(row, run);
  }
  while (body.children.length > MAX_ROWS) body.lastElementChild.remove();
  if (body.children.length) {
    document.querySelector("[data-runs-table]").hidden = false;
    document.querySelector("[data-runs-empty]")?.remove();
  }
}

const times = [...body.querySelectorAll("time")];
if (times.length) body.dataset.oldest = times[times.length - 1].dateTime;
follow(body.dataset.follow, { onMessage: (message) => apply(message.runs) });
