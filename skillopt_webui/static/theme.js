// Before the first paint, so that a dark page never flashes white.
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme) document.documentElement.dataset.theme = theme;
  } catch { /* storage is off; the system's choice holds */ }
})();
