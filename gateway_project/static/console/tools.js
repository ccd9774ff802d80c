// Lists with checkboxes: choosing all of them at once.

for (const all of document.querySelectorAll("[data-check-all]")) {
  all.addEventListener("change", () => {
    const form = all.form ?? all.closest("form");
    for (const box of form.querySelectorAll("input[type=checkbox][name=tool]")) {
      box.checked = all.checked;
    }
  });
}
