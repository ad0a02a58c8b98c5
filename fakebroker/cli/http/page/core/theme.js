// Dark, light, or as the system has it: kept in this browser.

const KEY = "fakebroker-theme";
export const THEMES = ["auto", "light", "dark"];

// The theme that was chosen.
export function theme() {
  const kept = localStorage.getItem(KEY);
  return THEMES.includes(kept) ? kept : "auto";
}

// Choose a theme, and show it.
export function setTheme(name) {
  localStorage.setItem(KEY, name);
  show();
}

// The theme after this one.
export function nextTheme() {
  return THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
}

// Show the theme that was chosen, and let the canvases know of it.
export function show() {
  const dark = theme() === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : theme() === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  dispatchEvent(new Event("themechange"));
}

// Begin: show it now and whenever the system's changes.
export function start() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}

// A colour of the theme, for canvases: colour("--text").
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
