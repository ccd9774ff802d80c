// Shows what a pattern or a tool group matches while it is edited, before anything is saved.

const DELAY_MS = 200;

for (const form of document.querySelectorAll("form[data-preview]")) {
  const target = document.getElementById(form.dataset.target);
  const save = document.querySelector("[data-save]");
  let timer = 0;
  let latest = 0;
  const preview = async () => {
    const asked = ++latest;
    try {
      const response = await fetch(form.dataset.preview, { method: "POST", body: new FormData(form) });
      if (!response.ok || response.redirected) throw new Error(String(response.status));
      const html = await response.text();
      if (asked !== latest) return;
      const { name, value } = document.activeElement;
      const isInside = target.contains(document.activeElement);
      target.innerHTML = html; // rendered and escaped by the server
      if (isInside) [...target.querySelectorAll("input")].find((one) => one.name === name && one.value === value)?.focus();
      if (save) save.hidden = !form.elements.pattern.value.trim();
    } catch {
      if (asked === latest) target.textContent = "The preview could not be made; nothing was changed.";
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(preview, DELAY_MS);
  });
  form.querySelector("[data-preview-button]").hidden = true;
}
