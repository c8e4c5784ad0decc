// The launch form: checks while typing with the command line's own messages, and shows the quote before the button.
"use strict";
(() => {
  const form = document.querySelector("[data-launch]");
  const key = document.querySelector("meta[name=form-key]").content;
  const quote = form.querySelector("[data-quote]"), button = form.querySelector("[data-start-button]");
  let timer = 0, turn = 0;
  const made = (tag, text, className) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  function changedOnly() {
    const values = { config: form.elements.config.value };
    for (const field of form.querySelectorAll("[name^='set.'], [name^='own.']")) {
      const own = field.name.startsWith("own.");
      if (own ? field.value.trim() : field.value !== field.dataset.start) values[field.name] = field.value;
      field.closest(".field").classList.toggle("changed", !own && field.value !== field.dataset.start);
    }
    return values;
  }
  async function check() {
    const mine = ++turn;
    form.classList.add("checking");
    let found;
    try {
      const answer = await fetch("/launch/check", {
        method: "POST", credentials: "same-origin", body: JSON.stringify(changedOnly()),
        headers: { "Content-Type": "application/json", "X-Form-Key": key },
      });
      if (!answer.ok) throw new Error(await answer.text());
      found = await answer.json();
    } catch (error) {
      found = { problems: [{ key: "", text: String(error.message || error) }], warnings: [], quote: "", lines: [] };
    }
    if (mine !== turn) return;
    form.classList.remove("checking");
    show(found);
  }
  function show(found) {
    for (const field of form.querySelectorAll(".field[data-key]")) {
      const own = found.problems.filter((p) => p.key === field.dataset.key);
      const line = field.querySelector(".problem"), input = field.querySelector("input, select");
      line.hidden = !own.length;
      line.textContent = own.map((p) => p.text.replace(/^[^:]*: [\w.]+: /, "")).join("; ");
      input.toggleAttribute("aria-invalid", own.length > 0);
      if (own.length) field.closest("details")?.setAttribute("open", "");
    }
    form.querySelector("[data-problems]").replaceChildren(...found.problems.map((p) => made("li", p.text)));
    form.querySelector("[data-warnings]").replaceChildren(...found.warnings.map((w) => made("li", w)));
    button.disabled = found.problems.length > 0;
    if (!found.quote) {
      quote.replaceChildren(made("p", found.problems.length ? "Mend what is below; then the quote appears." : "", "dim"));
      return;
    }
    const table = document.createElement("table");
    table.className = "plain";
    for (const line of found.lines) {
      const row = table.insertRow();
      row.append(made("td", line.stage), made("td", line.role, "dim"), made("td", line.calls + " calls", "num"));
    }
    quote.replaceChildren(made("p", found.quote, "quoteline"), table);
  }
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(check, 350); });
  form.addEventListener("change", (event) => { if (event.target.matches("select")) { clearTimeout(timer); check(); } });
  form.addEventListener("submit", () => {
    // Only what was changed is sent, so that the command line stays short and readable.
    for (const field of form.querySelectorAll("[name^='set.']")) field.disabled = field.value === field.dataset.start;
    button.textContent = "Starting…";
  });
  addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const field of form.querySelectorAll("[name^='set.']")) field.disabled = false;
    button.textContent = "Start the run";
  });
  for (const picker of form.querySelectorAll("[data-upload]")) picker.addEventListener("change", async () => {
    if (!picker.files.length) return;
    const body = new FormData();
    body.append("file", picker.files[0]);
    const answer = await fetch("/launch/file", { method: "POST", body, credentials: "same-origin", headers: { "X-Form-Key": key } });
    const target = document.getElementById(picker.dataset.upload);
    if (answer.ok) { target.value = (await answer.json()).path; check(); } else show({ problems: [{ key: "", text: await answer.text() }], warnings: [], quote: "", lines: [] });
  });
  const own = !form.elements.config.value;
  if (!own) check(); else button.disabled = true;
})();
