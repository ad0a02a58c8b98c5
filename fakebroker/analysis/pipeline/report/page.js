"use strict";
// Switches the theme, and sorts tables by a click on a heading.
const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
}

function switchTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("fakebroker-theme", root.dataset.theme); } catch { /* a file may have no storage */ }
  name();
}

function name() {
  button.textContent = isDark() ? "light" : "dark";
  button.setAttribute("aria-label", `switch to the ${button.textContent} theme`);
}

function sortBy(heading) {
  const table = heading.closest("table");
  const place = [...heading.parentNode.children].indexOf(heading);
  const isDescending = heading.getAttribute("aria-sort") !== "descending";
  const value = (row) => {
    const cell = row.children[place];
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    return cell.textContent === "" ? null : cell.textContent;
  };
  const rows = [...table.tBodies[0].rows].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === null || b === null) return (a === null) - (b === null); // what is unknown comes last
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return isDescending ? -order : order;
  });
  for (const each of heading.parentNode.children) each.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
  table.tBodies[0].append(...rows);
}

const button = document.getElementById("theme");
try { root.dataset.theme = localStorage.getItem("fakebroker-theme") || ""; } catch { /* as above */ }
const wanted = new URLSearchParams(location.search).get("theme");
if (wanted === "light" || wanted === "dark") root.dataset.theme = wanted;
if (!root.dataset.theme) delete root.dataset.theme;
button.hidden = false;
button.addEventListener("click", switchTheme);
prefersDark.addEventListener("change", name);
for (const heading of document.querySelectorAll("th")) {
  heading.tabIndex = 0;
  heading.addEventListener("click", () => sortBy(heading));
  heading.addEventListener("keydown", (event) => { if (event.key === "Enter") sortBy(heading); });
  const place = [...heading.parentNode.children].indexOf(heading);
  const cells = [...heading.closest("table").tBodies[0].rows].map((row) => row.children[place]);
  if (cells.some((cell) => cell.classList.contains("n"))) heading.classList.add("n");
}
name();
