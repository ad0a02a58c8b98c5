// The page: header, the view that the address names, messages. Everything is drawn from the state, at most once per frame.

import * as api from "./core/api.js";
import { html, nothing, ref, render, repeat } from "./core/dom.js";
import { icon } from "./core/icons.js";
import * as keyboard from "./core/keyboard.js";
import * as live from "./core/live.js";
import * as router from "./core/router.js";
import { change, onChange, schedule, state } from "./core/store.js";
import * as theme from "./core/theme.js";
import { dialogs, toggleHelp } from "./parts/dialogs.js";
import { empty } from "./parts/marks.js";
import { copyable } from "./parts/copy.js";
import { clockFact } from "./parts/clock_fact.js";
import { clientsView } from "./views/clients.js";
import { controlView } from "./views/control.js";
import { groupsView } from "./views/groups.js";
import { overviewView } from "./views/overview.js";
import { timelineView } from "./views/timeline.js";
import { topicsView } from "./views/topics.js";
import { transactionsView } from "./views/transactions.js";

const VIEWS = {
  overview: overviewView,
  groups: groupsView,
  timeline: timelineView,
  topics: topicsView,
  transactions: transactionsView,
  clients: clientsView,
  control: controlView,
};
const TITLES = Object.fromEntries(Object.keys(VIEWS).map((name) => [name, name[0].toUpperCase() + name.slice(1)]));
const TICK_MS = 1000; // ages and countdowns that are shown in seconds

let opened = null; // the view that is shown

function shownViews() {
  return state.page?.is_read_only ? ["timeline"] : router.VIEWS;
}

function currentView() {
  return shownViews().includes(state.route.view) ? state.route.view : shownViews()[0];
}

function draw() {
  const name = currentView();
  const is_another = opened !== name;
  if (is_another) {
    VIEWS[opened]?.close?.();
    opened = name;
    VIEWS[opened].open?.();
  }
  document.title = [state.route.path[0], TITLES[name], router.BROKER, "fakebroker"].filter(Boolean).join(" · ");
  render(page(name), document.body);
  if (is_another) document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  VIEWS[name].drawn?.();
}

function page(name) {
  return html` <div class="page">
    <a class="skip" href="#main" @click=${toMain}>Skip to the content</a>
    ${header(name)}
    <main id="main" tabindex="-1">
      <h1 class="unseen">${TITLES[name]}</h1>
      ${content(name)}
    </main>
    ${notices()}${dialogs()}
  </div>`;
}

function content(name) {
  if (state.link.is_refused) return login();
  return state.link.is_gone ? noBroker() : VIEWS[name].template();
}

function noBroker() {
  return empty(
    `Broker ${router.BROKER} does not exist`,
    html`<p class="muted">It was removed, by a client or because it was idle.</p>
      <a href=${router.pageOf("")}>Go to the served broker</a>`,
  );
}

function toMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function header(name) {
  const link = (view) =>
    html`<a href=${router.href(view)} aria-current=${view === name ? "page" : nothing}>${TITLES[view]}</a>`;
  const source = state.page?.source;
  return html` <header class="top">
    <a class="brand" href="#/"><img src="page/icon.svg" alt="" />fakebroker</a>
    <nav aria-label="Views">${shownViews().map(link)}</nav>
    <div class="facts">
      ${source ? html`<span class="fact mono">${source}</span>` : brokerFacts()}
      <span class="fact state ${state.link.is_up ? "good" : "warn"}" role="status">${state.link.text}</span>
    </div>
    <div class="tools">
      <button
        type="button"
        class="plain"
        aria-label=${`Theme: ${theme.theme()}`}
        title=${`Theme: ${theme.theme()}`}
        @click=${changeTheme}
      >
        ${icon(theme.theme())}
      </button>
      <button type="button" class="plain" aria-label="Keys" title="Keys" @click=${toggleHelp}>${icon("keys")}</button>
    </div>
  </header>`;
}

function brokerFacts() {
  return html` ${brokerChoice()}${clockFact()}
  ${state.bootstrap ? html`<span class="fact bootstrap"><span class="muted">bootstrap</span>${copyable(state.bootstrap, "the bootstrap address")}</span>` : ""}`;
}

// Which broker, where tests made some of their own.
function brokerChoice() {
  const ids = [...(state.page?.brokers ?? [])];
  if (router.BROKER && !ids.includes(router.BROKER)) ids.push(router.BROKER);
  if (!ids.length) return "";
  const go = (event) => location.assign(`${router.pageOf(event.target.value)}#/${currentView()}`);
  const option = (id, text) => html`<option value=${id} ?selected=${id === router.BROKER}>${text}</option>`;
  return html`<select aria-label="Broker" @change=${go}>
    ${option("", "served broker")}${ids.map((id) => option(id, id))}
  </select>`;
}

function changeTheme() {
  theme.setTheme(theme.nextTheme());
  schedule();
}

function login() {
  const submit = (event) => {
    event.preventDefault();
    api.setToken(new FormData(event.target).get("token").trim());
    change((s) => (s.link = { is_up: false, is_refused: false, is_gone: false, text: "connecting" }));
    live.begin();
  };
  return html` <form class="login" @submit=${submit}>
    <h2>This broker requires its control token</h2>
    ${api.token() ? html`<p class="bad" role="alert">The broker refused that token. Check it and try again.</p>` : ""}
    <p class="muted">
      It was printed when the broker started, or given with <code class="nowrap">--control-token</code>. It is kept for this tab only.
    </p>
    <label class="field"><span>Token</span><input name="token" type="password" autocomplete="off" required ${focused} /></label>
    <button class="primary">Open</button>
  </form>`;
}

// The field has the focus as soon as it is in the document.
const focused = ref((element) => element && queueMicrotask(() => element.focus()));

function notices() {
  const one = ({ text, is_bad }) =>
    html`<div class=${is_bad ? "bad" : ""} role=${is_bad ? "alert" : "status"}>${text}</div>`;
  return html`<div class="notices">${repeat(state.notices, (each) => each.id, one)}</div>`;
}

function keys() {
  const views = Object.fromEntries(shownViews().map((view, at) => [`${at + 1}`, () => router.go(router.href(view))]));
  const filter = () => document.querySelector("[data-filter]")?.focus();
  return { ...views, "/": filter, "?": toggleHelp, t: changeTheme, ...VIEWS[currentView()].keys?.() };
}

function begin() {
  api.takeTokenFromAddress();
  theme.start();
  router.start();
  keyboard.start(keys);
  onChange(draw);
  setInterval(() => document.hidden || schedule(), TICK_MS);
  addEventListener("themechange", schedule);
  live.begin();
  schedule();
}

begin();
