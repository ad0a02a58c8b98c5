// The state of the page, in one object. Views read it; `change` alters it and has the page drawn again, once per frame.

export const state = {
  route: { view: "overview", path: [], query: new URLSearchParams() },
  link: { is_up: false, is_refused: false, is_gone: false, text: "connecting" }, // to the control port
  page: null, // what the server says of itself: a broker, or a journal file
  clock: null,
  bootstrap: "",
  nodes: [],
  notices: [], // what went wrong or was done, for a few seconds
};

let draw = () => {};
let is_scheduled = false;

// Set what draws the page; it is called at most once per frame.
export function onChange(drawPage) {
  draw = drawPage;
}

// Alter the state with `alter(state)`, and draw soon.
export function change(alter) {
  alter(state);
  schedule();
}

// Draw with the next frame.
export function schedule() {
  if (is_scheduled) return;
  is_scheduled = true;
  requestAnimationFrame(() => {
    is_scheduled = false;
    draw();
  });
}

// A function that computes `compute(...inputs)` anew only when one of the inputs is another one than before.
export function memo(compute) {
  let inputs = null;
  let result;
  return (...given) => {
    if (inputs === null || given.some((each, at) => each !== inputs[at])) {
      inputs = given;
      result = compute(...given);
    }
    return result;
  };
}

let notice_count = 0;

// Tell of something for some seconds. `is_bad` makes it an alert.
export function notify(text, is_bad = false) {
  const notice = { id: ++notice_count, text, is_bad };
  change((s) => (s.notices = [...s.notices.slice(-3), notice]));
  setTimeout(() => change((s) => (s.notices = s.notices.filter((each) => each !== notice))), is_bad ? 12000 : 5000);
}
