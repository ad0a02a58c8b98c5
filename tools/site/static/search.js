// What Sphinx's search leaves open: which results come first, and a line about each. Both work without a server.

// Scorer is read by searchtools.js. Guides come before the reference, and the rules last: they mention everything.
var Scorer = {
  score: ([page, title, anchor, about, score]) => {
    const folders = { tutorial: 8, "how-to": 8, explanation: 6, reference: 2, rules: -2 };
    const words = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase().split(/\s+/);
    const inTitle = words.filter((word) => word && title.toLowerCase().includes(word)).length;
    return score + (folders[page.split("/")[0]] || 0) + 10 * inTitle;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// The first sentences of each page are in summaries.js, which the extension writes.
document.addEventListener("DOMContentLoaded", () => {
  const results = document.getElementById("search-results");
  if (!results) return;
  const root = document.documentElement.dataset.content_root;
  const script = document.createElement("script");
  script.src = `${root}_static/summaries.js`;
  script.onload = () => {
    const describe = () => {
      for (const link of results.querySelectorAll("li > a:not([data-described])")) {
        link.dataset.described = "";
        const page = link.getAttribute("href").replace(/^(\.\/)+/, "").replace(/\.html.*$/, "");
        if (!window.summaries[page]) continue;
        const text = document.createElement("p");
        text.className = "context";
        text.textContent = window.summaries[page];
        link.parentElement.append(text);
      }
    };
    new MutationObserver(describe).observe(results, { childList: true, subtree: true });
    describe();
  };
  document.head.append(script);
});
