// Live parts, keyboard and small comforts. Every page works without it; nothing here builds HTML from text.
"use strict";
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// Live: the server says that something moved; the page fetches itself and takes over the parts that differ.
let fetching = false, again = false;
async function refresh() {
  if (fetching) { again = true; return; }
  fetching = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (answer.ok) takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch { /* the event source notices by itself */ } finally {
    fetching = false;
    if (again) { again = false; setTimeout(refresh, 250); }
  }
}
function takeOver(fresh) {
  document.title = fresh.title;
  const names = new Set($$("[data-live]", fresh).map((part) => part.id));
  for (const part of $$("[data-live]", fresh)) {
    const here = document.getElementById(part.id);
    if (!here) { location.reload(); return; }
    if (busy(here)) continue;
    keepState(here, part);
    if (!here.isEqualNode(part)) here.replaceWith(document.adoptNode(part));
  }
  for (const here of $$("[data-live]")) if (!names.has(here.id)) here.remove();
  markRow();
  showPicked();
}
const busy = (part) => part.contains(document.activeElement) && document.activeElement.matches("input:not([type=checkbox]), textarea, select");
function keepState(here, part) {
  for (const open of $$("details[open]", here)) {
    const same = open.id ? part.querySelector("#" + CSS.escape(open.id)) : $$("details", part)[$$("details", here).indexOf(open)];
    if (same) same.open = true;
  }
  for (const picked of $$("input[type=checkbox]:checked", here)) {
    const same = part.querySelector("#" + CSS.escape(picked.id));
    if (same) same.setAttribute("checked", "");
  }
}
let source = null;
function listen() {
  const address = document.body.dataset.events;
  if (!address || document.hidden || source) return;
  source = new EventSource(address);
  // The first message says how things stand; it may already differ from what the page was drawn from.
  source.onmessage = (event) => { if (event.data !== document.body.dataset.state) refresh(); document.body.dataset.state = event.data; };
  source.onopen = () => { $(".offline").hidden = true; if (wasAway) refresh(); wasAway = false; };
  source.onerror = () => { $(".offline").hidden = false; wasAway = true; };
}
let wasAway = false;
// A hidden page lets go of its connection: browsers allow only a few to one server.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { source?.close(); source = null; wasAway = true; } else listen();
});
addEventListener("pagehide", () => { source?.close(); source = null; });
addEventListener("pageshow", (event) => { if (event.persisted) { wasAway = true; listen(); } });
listen();

// Theme: system, light, dark.
$("[data-theme-switch]").addEventListener("click", () => {
  const order = ["", "light", "dark"], root = document.documentElement;
  const next = order[(order.indexOf(root.dataset.theme || "") + 1) % 3];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  try { if (next) localStorage.setItem("theme", next); else localStorage.removeItem("theme"); } catch { /* not kept */ }
});

// Rows and keys.
let row = -1, waiting = "";
const rows = () => $$("[data-row]");
function markRow() {
  rows().forEach((each, i) => each.classList.toggle("at", i === row));
}
function moveRow(by) {
  const all = rows();
  if (!all.length) return;
  row = Math.max(0, Math.min(all.length - 1, row + by));
  markRow();
  all[row].scrollIntoView({ block: "nearest" });
  $("[data-open]", all[row])?.focus({ preventScroll: true });
}
const follow = (selector) => { const link = $(selector); if (link) link.click(); };
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
  if (event.target.matches("input:not([type=checkbox]), textarea, select")) { if (event.key === "Escape") event.target.blur(); return; }
  if (waiting === "g") { waiting = ""; if (event.key === "r") location.href = "/"; if (event.key === "n") location.href = "/launch"; return; }
  const actions = {
    "/": () => { const box = $("[data-search]"); if (box) { event.preventDefault(); box.focus(); box.select(); } },
    j: () => moveRow(1), k: () => moveRow(-1),
    x: () => { const box = rows()[row] && $("input[type=checkbox]", rows()[row]); if (box) box.click(); },
    "[": () => follow("a[rel=prev]"), "]": () => follow("a[rel=next]"),
    g: () => { waiting = "g"; setTimeout(() => { waiting = ""; }, 1200); },
    u: () => follow("[data-up]"), "?": () => $("#help").showModal(),
  };
  actions[event.key]?.();
});
$("[data-help]").addEventListener("click", () => $("#help").showModal());

// Search while typing: the address changes, the list is taken over in place.
let typing = 0;
const searchBox = $("[data-search]");
searchBox?.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    const query = new URLSearchParams(new FormData(searchBox.form));
    history.replaceState(null, "", location.pathname + "?" + query);
    refresh();
  }, 200);
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  if (event.target.matches("[data-compare] input[type=checkbox]")) showPicked();
});
function showPicked() {
  const bar = $(".comparebar");
  if (!bar) return;
  const n = $$("[data-compare] input[type=checkbox]:checked").length;
  bar.hidden = n < 1;
  $("[data-picked]").textContent = n === 1 ? "1 run chosen; choose another to compare" : n + " runs chosen";
  $("button", bar).disabled = n < 2;
}
showPicked();
for (const button of $$("[data-copy]")) button.addEventListener("click", async () => {
  const text = $(button.dataset.copy).value;
  try { await navigator.clipboard.writeText(text); } catch { const box = $(button.dataset.copy); box.select(); document.execCommand("copy"); }
  const said = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = said; }, 1500);
});
const slider = $("[data-versions]");
slider?.addEventListener("change", () => {
  location.href = "?v=" + slider.dataset.versions.split(",")[slider.value] + "&view=" + slider.dataset.view;
});
for (const form of $$("form")) form.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (button?.dataset.busy) { button.textContent = button.dataset.busy; setTimeout(() => { button.disabled = true; }); }
});
