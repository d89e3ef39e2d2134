// Controls: variants, time, moving pictures, tables.

const host = document.getElementById("figures");
let forced = null;

function redraw() {
  for (const p of plots) p.draw(forced);
  if (table) table.fill();
  if (share) share.fill();
}

// The drawing follows the slider in a moment, or at once for who wants no motion.
let frame = 0;
function go(at) {
  state.at = at;
  cancelAnimationFrame(frame);
  const from = state.shown, start = performance.now();
  const long = reduced.matches || forced ? 0 : 260;
  const tick = (time) => {
    const share = long ? Math.max(0, Math.min(1, (time - start) / long)) : 1;
    state.shown = share < 1 ? from + (at - from) * (1 - (1 - share) ** 3) : at;
    redraw();
    if (share < 1) frame = requestAnimationFrame(tick);
  };
  tick(start);
}

function chips() {
  const row = html("div", { class: "chips", role: "group", "aria-label": "Variants shown" });
  for (const d of data.variants) {
    const button = html("button", { type: "button", "aria-pressed": "true", "data-v": d.v, title: d.text },
      swatch(d.v), html("span", {}, d.name + (d.note ? ` (${d.note})` : "")));
    button.addEventListener("click", () => {
      const on = !state.visible.has(d.v);
      if (on) state.visible.add(d.v);
      else state.visible.delete(d.v);
      button.setAttribute("aria-pressed", String(on));
      redraw();
    });
    row.append(button);
  }
  return row;
}

function time() {
  const said = html("output", { for: "step" });
  if (steps.length < 2) {
    said.append(`Measured at step ${number(steps[0], 0)} only`);
    return html("div", { class: "time" }, said);
  }
  const input = html("input", {
    type: "range", id: "step", min: 0, max: steps.length - 1, step: 1, "aria-label": "Training step of the paths",
  });
  const icon = html("span", { "aria-hidden": "true" }), word = html("span", { class: "word" });
  const play = html("button", { type: "button", class: "play" }, icon, " ", word);
  let timer = 0;
  const say = () => {
    const words = `step ${number(steps[state.at], 0)}`;
    said.replaceChildren(words, html("small", {}, `${state.at + 1} of ${steps.length} measured`));
    input.setAttribute("aria-valuetext", `${words}, ${state.at + 1} of ${steps.length}`);
  };
  const idle = () => {
    clearInterval(timer);
    timer = 0;
    icon.textContent = "▶\uFE0E";
    word.textContent = "Play";
  };
  input.value = state.at;
  input.addEventListener("input", () => {
    idle();
    go(Number(input.value));
    say();
  });
  play.addEventListener("click", () => {
    if (timer) { idle(); return; }
    const to = (at) => {
      input.value = at;
      go(at);
      say();
    };
    to(state.at === steps.length - 1 ? 0 : state.at + 1);
    icon.textContent = "❚❚";
    word.textContent = "Pause";
    timer = setInterval(() => {
      if (state.at < steps.length - 1) to(state.at + 1);
      if (state.at === steps.length - 1) idle();
    }, 900);
  });
  idle();
  say();
  return html("div", { class: "time" }, play, html("div", { class: "track" }, input), said);
}

// How much of a path the plane shows.
let share = null;
function shares() {
  if (!data.plane || !data.plane.projected) return null;
  const said = html("p", { class: "plane-share" });
  const fill = () => {
    const held = each(data.plane.data).flatMap((v) => {
      const d = data.plane.data[v][steps[state.at]];
      return d && d.share !== null ? [`${short(v)} ${d.share > 0.995 ? "over 99" : number(100 * d.share, 0)} %`] : [];
    });
    said.textContent = held.length ? `Variance that the plane holds at step ${number(steps[state.at], 0)}: ${held.join(", ")}.` : "";
  };
  share = { fill };
  return said;
}

// The scalars of the paths at the step of the slider.
let table = null;
function readout() {
  const known = data.scalars.names.filter((q) =>
    Object.values(data.scalars.data).some((at) => Object.values(at).some((row) => row[q.name][0] !== null)));
  if (!known.length) return null;
  const body = html("tbody", {}), caption = html("caption", {});
  const head = html("tr", {}, html("th", { scope: "col" }, "Variant"),
    ...known.map((q) => html("th", { scope: "col" }, q.title[0].toUpperCase() + q.title.slice(1), " ", html("small", {}, q.unit))));
  const fill = () => {
    caption.textContent = `At step ${number(steps[state.at], 0)}`;
    body.replaceChildren(...each(data.scalars.data).map((v) => {
      const row = data.scalars.data[v][steps[state.at]];
      return html("tr", {}, html("th", { scope: "row" }, swatch(v), " ", short(v)), ...known.map((q) => {
        const [value, null_] = row ? row[q.name] : [null, null];
        const unit = q.name === "turning_angle" ? "°" : "";
        return html("td", {}, value === null ? "–" : number(value, q.digits) + unit,
          value === null || null_ === null ? "" : html("small", {}, `null ${number(null_, q.digits)}${unit}`));
      }));
    }));
  };
  fill();
  table = { fill };
  return html("div", { class: "now", role: "region", tabindex: 0, "aria-label": "Numbers at the step of the slider" },
    html("table", {}, caption, html("thead", {}, head), body));
}

function build() {
  const made = figures();
  if (!plots.length) {
    host.append(html("p", { class: "empty" }, "Nothing has been measured yet that could be drawn."));
    return;
  }
  const bar = html("div", { class: "bar sticky" }, chips());
  if (steps.length) bar.append(time());
  host.append(bar);
  const held = made.path && shares();
  if (held) made.path.append(held);
  for (const part of [made.quality, made.path, made.depth]) if (part) host.append(part);
  if (steps.length) {
    const numbers = readout();
    if (numbers) host.append(numbers);
  }
  if (made.training) host.append(made.training);
  redraw();
  let width = host.clientWidth;
  new ResizeObserver(() => {
    if (host.clientWidth !== width && !forced) {
      width = host.clientWidth;
      requestAnimationFrame(redraw);
    }
  }).observe(host);
}

function movers() {
  for (const shown of document.querySelectorAll(".moving")) {
    const button = html("button", { type: "button" });
    let moves = !reduced.matches;
    const set = () => {
      shown.dataset.moves = moves ? "yes" : "no";
      button.textContent = moves ? "Pause" : "Play";
      button.setAttribute("aria-label", `${moves ? "Pause" : "Play"} the moving picture`);
    };
    button.addEventListener("click", () => { moves = !moves; set(); });
    set();
    const row = html("div", { class: "row" });
    const caption = shown.querySelector("figcaption");
    caption.replaceWith(row);
    row.append(caption, button);
  }
}

function sortable(shown) {
  const body = shown.tBodies[0], heads = [...shown.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const words = head.querySelector(".head");
    const button = html("button", { type: "button" }, ...words.childNodes);
    words.replaceWith(button);
    const numeric = head.classList.contains("number");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row, k) => [row.cells[column].dataset.key, row, k]);
      rows.sort(([a, , i], [b, , k]) => {
        // What is unknown stays last in both directions.
        if (a === "" || b === "") return (a === "") - (b === "") || i - k;
        const order = numeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true });
        return (down ? -order : order) || i - k;
      });
      body.append(...rows.map(([, row]) => row));
    });
  });
}

build();
movers();
document.querySelectorAll(".sortable").forEach(sortable);

// Paper: everything open, drawn for its width.
let opened = [];
addEventListener("beforeprint", () => {
  const shut = [...document.querySelectorAll("details:not([open])")];
  shut.forEach((d) => { d.open = true; });
  opened.push(...shut);
  forced = host.clientWidth > 500 ? 480 : null;
  plots.forEach((p) => p.draw(p.root.parentElement.classList.contains("plots") ? 420 : 760));
});
addEventListener("afterprint", () => {
  opened.forEach((d) => { d.open = false; });
  opened = [];
  forced = null;
  redraw();
});
