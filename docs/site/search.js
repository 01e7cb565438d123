/* SPDX-License-Identifier: BSD-3-Clause */
/* The search through PAGES (index.js), and the choice of light or dark. */
const field = document.getElementById("search");
const found = document.getElementById("found");
const up = document.body.dataset.up;

/* How well a part of a page answers: all words must be there. */
function score(words, [title, address, text]) {
    let sum = 0;
    for (const word of words) {
        const name = title.toLowerCase(), place = address.toLowerCase();
        const here = text.toLowerCase().indexOf(word);
        if (name === word)
            sum += 20;
        else if (name.includes(word))
            sum += 8;
        else if (place.includes(word))
            sum += 5;
        else if (here >= 0)
            sum += 1 + 1 / (1 + here / 200);
        else
            return 0;
    }
    return sum;
}

/* The text around the first word, as nodes: nothing of a page is markup here. */
function piece(words, text) {
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60);
    const line = document.createElement("p");
    line.textContent = (at ? ".. " : "") + text.slice(at, at + 180);
    return line;
}

function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter(w => w);
    const best = PAGES.map(p => [score(words, p), p]).filter(([s]) => s > 0)
        .sort((a, b) => b[0] - a[0]).slice(0, 12);
    found.hidden = !words.length;
    found.replaceChildren();
    for (const [, [title, address, text]] of best) {
        const link = document.createElement("a");
        const part = decodeURIComponent(address.split("#")[1] || "");
        link.href = up + address;
        link.textContent = title + (part ? ": " + part.replace(/[-_]/g, " ") : "");
        found.append(link, piece(words, text));
    }
    if (words.length && !best.length)
        found.textContent = "Nothing has all of these words.";
}

field.addEventListener("input", show);
field.addEventListener("keydown", event => {
    if (event.key === "Escape") {
        field.value = "";
        show();
    } else if (event.key === "Enter" && found.querySelector("a")) {
        location.href = found.querySelector("a").href;
    }
});

document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme === "dark" || (!root.dataset.theme &&
        matchMedia("(prefers-color-scheme: dark)").matches);
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.theme = root.dataset.theme; } catch (e) { /* for now */ }
});
