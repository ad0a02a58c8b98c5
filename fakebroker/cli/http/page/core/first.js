// Before anything is painted: the theme, so that a dark page does not begin with a white flash.
(() => {
  const kept = localStorage.getItem("fakebroker-theme");
  const dark = kept === "dark" || (kept !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
