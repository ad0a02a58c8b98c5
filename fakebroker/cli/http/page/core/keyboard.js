// Keys of the page. Nothing is done while somebody writes, or with a modifier key.

// All keys with what they do: the help shows this table.
export const KEYS = [
  ["1 to 7", "Overview, Groups, Timeline, Topics, Transactions, Clients, Control"],
  ["/", "go to the filter"],
  ["j k", "next or previous item of the list or entry of the timeline"],
  ["Enter", "leave the filter and keep it"],
  ["Esc", "clear the filter, close what is open"],
  ["+ -", "timeline: zoom in, out"],
  ["h l", "timeline: earlier, later"],
  ["0", "timeline: everything"],
  ["f", "timeline: follow new entries"],
  ["t", "theme: dark, light, system"],
  ["?", "show the keys"],
];

// Call `actions[key](event)` for keys that have an action; `actions` is asked anew for each key.
export function start(actions) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const is_writing = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (is_writing) {
      if (event.key === "Escape") leave(event.target);
      if (event.key === "Enter" && event.target.type === "search") event.target.blur();
      return;
    }
    if (document.querySelector("dialog[open]") && event.key !== "?") return;
    const action = actions()[event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}

// Leave a field. A filter is cleared first, with the event that its view listens to: the browser clears the box without one.
function leave(field) {
  if (field.type === "search" && field.value) {
    field.value = "";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  field.blur();
}
