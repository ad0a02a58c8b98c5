"use strict";
// Draws the figures with the colours of the theme, switches the theme, and sorts tables by a click on a heading.
const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const scales = {
  light: [[0, "#eef3f8"], [0.25, "#b5d0e6"], [0.5, "#6ba3cf"], [0.75, "#2a6fae"], [1, "#0b2f5c"]],
  dark: [[0, "#222b38"], [0.25, "#23507c"], [0.5, "#2f80c2"], [0.75, "#8cbfe8"], [1, "#fdf3c7"]],
};

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
}

function colour(name) {
  return getComputedStyle(root).getPropertyValue(name).trim();
}

// Colours of series that are too dark on dark ground, and what stands for them there.
const brighter = { "#0072B2": "#3a9be0", "#009E73": "#1fb98d", "#D55E00": "#f0763a", "#56B4E9": "#9bd6f7", "#8C8C8C": "#a5adb8" };

// Long names leave no room for anything else on a narrow screen.
function shortened(text) {
  const plain = text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  const cut = plain.length > 16 ? `${plain.slice(0, 8)}…${plain.slice(-7)}` : plain;
  return cut.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function themed(figure) {
  const text = JSON.stringify(figure);
  const made = JSON.parse(isDark() ? text.replace(/#[0-9A-F]{6}/g, (each) => brighter[each] || each) : text);
  const layout = made.layout;
  const isNarrow = innerWidth < 640;
  Object.assign(layout, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true, dragmode: false });
  layout.font = { color: colour("--text"), family: "system-ui, sans-serif", size: isNarrow ? 11 : 13 };
  layout.hoverlabel = { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--text") }, align: "left" };
  for (const key of Object.keys(layout).filter((each) => /^[xy]axis/.test(each))) {
    Object.assign(layout[key], { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line") });
    if (isNarrow && key.startsWith("y") && layout[key].ticktext) layout[key].ticktext = layout[key].ticktext.map(shortened);
  }
  for (const trace of made.data) {
    if (trace.meta !== "scale") continue;
    trace.colorscale = scales[isDark() ? "dark" : "light"];
    if (isNarrow && trace.colorbar) Object.assign(trace.colorbar, { orientation: "h", y: 1.02, yanchor: "bottom", title: { ...trace.colorbar.title, side: "top" } });
    for (const note of layout.annotations || []) {
      // Text on a cell: dark on light cells, light on dark ones; which are which depends on the theme.
      const value = trace.z[note.y][note.x];
      const most = Math.max(...trace.z.flat().filter((each) => each !== null), 1);
      const isHigh = value / most > 0.55;
      note.font.color = isHigh === isDark() && value > 0 ? "#10151c" : isHigh ? "#ffffff" : colour("--text");
    }
  }
  return made;
}

function draw() {
  figures.forEach((figure, number) => {
    const made = themed(figure);
    const options = { responsive: true, displayModeBar: false, scrollZoom: false, showTips: false, doubleClick: "reset" };
    Plotly.react(`plot${number}`, made.data, made.layout, options);
  });
}

function switchTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("fakebroker-theme", root.dataset.theme); } catch { /* a file may have no storage */ }
  draw();
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
prefersDark.addEventListener("change", () => { draw(); name(); });
for (const heading of document.querySelectorAll("th")) {
  heading.tabIndex = 0;
  heading.addEventListener("click", () => sortBy(heading));
  heading.addEventListener("keydown", (event) => { if (event.key === "Enter") sortBy(heading); });
  const place = [...heading.parentNode.children].indexOf(heading);
  const cells = [...heading.closest("table").tBodies[0].rows].map((row) => row.children[place]);
  if (cells.some((cell) => cell.classList.contains("n"))) heading.classList.add("n");
}
name();
draw();
