// Before anything is painted: the theme that was chosen here. Without one the system's holds.
(() => {
  try {
    const chosen = localStorage.getItem("lockgate-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage is closed: the system's theme it is.
  }
})();
