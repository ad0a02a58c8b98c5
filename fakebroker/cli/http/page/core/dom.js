// The template library, imported in one place: what the views draw with.
export { html, svg, nothing, render } from "../vendor/lit-html/lit-html.js";
export { repeat } from "../vendor/lit-html/directives/repeat.js";
export { live } from "../vendor/lit-html/directives/live.js";
export { ref } from "../vendor/lit-html/directives/ref.js";
export { classMap } from "../vendor/lit-html/directives/class-map.js";
