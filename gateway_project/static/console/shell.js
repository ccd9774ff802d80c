// The shell's behaviour: menu, dialogs, copying, and search from everywhere.

const SEARCH_DELAY_MS = 120;
const TOAST_MS = 1800;

/** Say something short at the bottom of the page. */
export function showToast(text) {
  const toast = document.getElementById("toast");
  if (!toast) return;
  toast.textContent = text;
  toast.classList.add("toast--shown");
  clearTimeout(showToast.timer);
  showToast.timer = setTimeout(() => toast.classList.remove("toast--shown"), TOAST_MS);
}

/** Return the value that `{{ value|json_script:"id" }}` put on the page; null if there is none. */
export function readData(id) {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

/** Return the value of a design token, such as `--accent`, for drawing on a canvas. */
export function readToken(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Call a function now and whenever the system changes between light and dark. */
export function onTheme(draw) {
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

/** POST a form's fields or an object as the signed-in user; returns the response. */
export function post(address, fields) {
  const token = document.querySelector("input[name=csrfmiddlewaretoken]")?.value ?? "";
  const body = fields instanceof FormData ? fields : new URLSearchParams(fields);
  return fetch(address, { method: "POST", body, headers: { "X-CSRFToken": token } });
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    showToast("Copied");
  } catch {
    showToast("Your browser does not allow copying; select the text instead");
  }
}

function listenToMenu() {
  const button = document.querySelector("[data-menu]");
  const sidebar = document.getElementById("sidebar");
  if (!button || !sidebar) return;
  const open = (isOpen) => {
    sidebar.classList.toggle("sidebar--open", isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) sidebar.querySelector("a")?.focus();
  };
  button.addEventListener("click", () => open(!sidebar.classList.contains("sidebar--open")));
  document.addEventListener("click", (event) => {
    if (!sidebar.contains(event.target) && !button.contains(event.target)) open(false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && sidebar.classList.contains("sidebar--open")) {
      open(false);
      button.focus();
    }
  });
}

function listenToPopups() {
  const popups = [...document.querySelectorAll("[data-menu-popup]")];
  document.addEventListener("click", (event) => {
    for (const popup of popups) if (!popup.contains(event.target)) popup.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const popup = event.key === "Escape" && popups.find((one) => one.open);
    if (popup) {
      popup.open = false;
      popup.querySelector("summary").focus();
    }
  });
}

function listenToClicks() {
  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-copy], [data-copy-from], [data-dialog], [data-close]");
    if (!target) return;
    if (target.dataset.copy) copy(target.dataset.copy);
    if (target.dataset.copyFrom) {
      copy(document.getElementById(target.dataset.copyFrom)?.textContent ?? "");
    }
    if (target.hasAttribute("data-close")) target.closest("dialog")?.close();
    const dialog = target.dataset.dialog && document.getElementById(target.dataset.dialog);
    if (dialog && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      dialog.showModal();
    }
  });
}

function listenToSearch() {
  const dialog = document.getElementById("search-dialog");
  const form = dialog?.querySelector("[data-palette]");
  if (!form) return;
  const input = form.querySelector("input");
  const results = form.querySelector(".palette__results");
  const help = form.querySelector(".palette__help");
  let timer = 0;
  let latest = 0;
  let answered = ""; // the query whose results are shown

  const open = (event) => {
    event.preventDefault();
    if (!dialog.open) dialog.showModal();
    input.select();
  };
  document.querySelector("[data-search]")?.addEventListener("click", (event) => {
    if (!event.ctrlKey && !event.metaKey) open(event);
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") open(event);
    else if (event.key === "/" && !isTyping && !event.ctrlKey && !event.altKey && !event.metaKey) {
      open(event);
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // the backdrop
  });

  const items = () => [...results.querySelectorAll("[role=option]")];
  const select = (position) => {
    items().forEach((item, index) => {
      item.setAttribute("aria-selected", String(index === position));
      if (index === position) {
        item.scrollIntoView({ block: "nearest" });
        input.setAttribute("aria-activedescendant", item.id);
      }
    });
  };
  const show = (groups) => {
    let count = 0;
    const drawn = groups.map((group) => {
      const list = document.createElement("div");
      list.setAttribute("role", "group");
      list.setAttribute("aria-label", group.label);
      const label = document.createElement("p");
      label.className = "palette__group";
      label.textContent = group.label;
      label.setAttribute("aria-hidden", "true");
      list.append(label);
      for (const found of group.items) {
        const item = document.createElement("a");
        item.className = "palette__item";
        item.id = `palette-${count++}`;
        item.href = found.url;
        item.tabIndex = -1;
        item.setAttribute("role", "option");
        for (const part of ["title", "detail"]) {
          const text = document.createElement("span");
          text.className = `palette__${part}`;
          text.textContent = found[part];
          item.append(text);
        }
        list.append(item);
      }
      return list;
    });
    results.replaceChildren(...drawn);
    input.setAttribute("aria-expanded", String(count > 0));
    input.removeAttribute("aria-activedescendant");
    if (count) select(0);
    return count;
  };
  const search = async () => {
    const asked = ++latest;
    const query = input.value.trim();
    if (!query) {
      answered = query;
      show([]);
      return;
    }
    try {
      const response = await fetch(`${form.dataset.palette}?${new URLSearchParams({ q: query })}`);
      if (response.redirected || !response.ok) throw new Error(String(response.status));
      const answer = await response.json();
      if (asked !== latest) return;
      answered = query;
      const count = show(answer.groups);
      help.textContent = count ? "↑ ↓ to choose, Enter to open" : `Nothing is called “${query}”`;
    } catch {
      if (asked === latest) help.textContent = "The search does not answer; reload the page to sign in";
    }
  };
  const openSelected = async () => {
    if (input.value.trim() !== answered) {
      clearTimeout(timer); // never open a result of what was typed before
      await search();
    }
    if (input.value.trim() !== answered) return;
    items().find((item) => item.getAttribute("aria-selected") === "true")?.click();
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, SEARCH_DELAY_MS);
  });
  input.addEventListener("keydown", (event) => {
    const found = items();
    const position = found.findIndex((item) => item.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown") select(Math.min(position + 1, found.length - 1));
    else if (event.key === "ArrowUp") select(Math.max(position - 1, 0));
    else if (event.key === "Enter") openSelected();
    else if (event.key === "Escape") dialog.close(); // browsers would only empty the field
    else return;
    event.preventDefault();
  });
}

/** Ctrl+Enter in a text of several lines presses the button that `data-send` is the id of. */
function listenToSending() {
  document.addEventListener("keydown", (event) => {
    const isSent = event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing;
    const button = isSent && document.getElementById(event.target.dataset?.send);
    if (!button) return;
    event.preventDefault();
    button.click();
  });
}

/** Let the keyboard scroll what is wider or higher than its place. */
function watchScrolling() {
  const places = document.querySelectorAll(".table-wrap, .code, .diff, .tabs, .picture");
  const update = (entries) => {
    for (const { target } of entries) {
      const scrolls =
        target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      if (scrolls) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  };
  const observer = new ResizeObserver(update);
  places.forEach((place) => observer.observe(place));
  for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
    const { parentElement: tabs } = tab;
    tabs.scrollLeft = tab.offsetLeft + tab.offsetWidth - tabs.offsetLeft - tabs.clientWidth;
  }
}

/** Give each value of a table the name of its column, which narrow screens show beside it. */
function labelCells() {
  const label = (table) => {
    const heads = [...table.tHead.rows[0].cells].map((head) =>
      head.querySelector(".visually-hidden, input") ? "" : head.textContent.trim());
    for (const row of table.tBodies[0]?.rows ?? []) {
      const cells = [...row.cells];
      const isWhole = cells.every((cell) => cell.colSpan === 1);
      const left = heads.length - cells.length; // cells of a row above reach down to this one
      for (const cell of isWhole ? cells : []) {
        const name = heads[cell.cellIndex + left];
        const isEmpty = !cell.textContent.trim() && !cell.querySelector(".input");
        if (name && cell.tagName === "TD" && !isEmpty) cell.dataset.label = name;
      }
    }
  };
  const main = document.querySelector("main");
  const update = () => main.querySelectorAll(".table:has(> thead)").forEach(label);
  if (!main) return;
  update();
  new MutationObserver(update).observe(main, { childList: true, subtree: true });
}

labelCells();
watchScrolling();
listenToMenu();
listenToPopups();
listenToClicks();
listenToSending();
listenToSearch();
