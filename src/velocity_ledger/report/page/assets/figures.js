// What is drawn: validation, paths in a plane, profiles through depth, numbers over training.

const data = JSON.parse(document.getElementById("data").textContent);
const steps = data.checkpoints;
const names = new Map(data.variants.map((d) => [d.v, d]));
const state = {
  visible: new Set(data.variants.map((d) => d.v)),
  at: Math.max(steps.length - 1, 0),
  // Where the drawing is on its way to `at`.
  shown: Math.max(steps.length - 1, 0),
  ownScale: false,
};
const seen = (series) => series.filter((s) => state.visible.has(s.v));
const each = (record) => Object.keys(record).map(Number).filter((v) => state.visible.has(v));
const short = (v) => names.get(v).name;
const pad = ([low, high], share) => {
  const more = (high - low) * share || Math.abs(high) * share || 1;
  return [low - more, high + more];
};
const interval = (low, high, digits) =>
  low === null || low === undefined || high === null ? "" : `[${number(low, digits)}, ${number(high, digits)}]`;

// Values at the checkpoint that is shown; on the way between two, in between.
function now(record, name) {
  const a = record[steps[Math.floor(state.shown)]], b = record[steps[Math.ceil(state.shown)]];
  if (!a || !b) return (record[steps[state.at]] || {})[name] || null;
  const share = state.shown - Math.floor(state.shown);
  if (share === 0 || a[name].length !== b[name].length) return a[name];
  return a[name].map((value, k) => (value === null || b[name][k] === null ? null : value + share * (b[name][k] - value)));
}

function curves(series, digits, unit, options) {
  const own = seen(series);
  if (!own.length) return null;
  const stops = [...new Set(own.flatMap((s) => s.x.concat(...s.seeds.map((q) => q.x))))].sort((a, b) => a - b);
  const later = options.from ? options.from * stops[stops.length - 1] : -1;
  const values = own.flatMap((s) => [s, ...s.seeds].flatMap((q) => q.y.filter((_, k) => q.x[k] >= later)));
  const band = own.flatMap((s) => (options.band ? s.low.concat(s.high).filter((_, k) => s.x[k % s.x.length] >= later) : []));
  const range = extent(values.concat(band).concat(options.zero ? [0] : []));
  if (!range) return null;
  const x = [Math.min(0, stops[0]), Math.max(stops[stops.length - 1], 1)];
  return {
    x, y: pad(range, 0.06), whole: true, zero: options.zero, stops,
    mark: steps.length > 1 && steps[state.at] >= x[0] && steps[state.at] <= x[1] ? steps[state.at] : undefined,
    bands: options.band ? own : [],
    lines: own.flatMap((s) => s.seeds.map((q) => ({ v: s.v, kind: "seed", x: q.x, y: q.y }))).concat(own),
    dots: own.flatMap((s) => (s.x.length === 1 ? [{ v: s.v, x: s.x[0], y: s.y[0], full: true }] : []))
      .concat(own.flatMap((s) => (s.best || []).map(([, bx, by]) => ({ v: s.v, x: bx, y: by, r: 4.5 })))),
    labels: own.map((s) => ({ v: s.v, x: s.x[s.x.length - 1], y: s.y.length ? s.y[s.y.length - 1] : null, text: short(s.v) })),
    read: (k) => ({
      head: `step ${number(stops[k], 0)}, ${unit}`,
      rows: own.flatMap((s) => {
        const i = s.x.indexOf(stops[k]);
        if (i < 0) return [];
        return [{
          v: s.v, name: short(s.v), x: stops[k], y: s.y[i],
          value: (options.zero && s.y[i] > 0 ? "+" : "") + number(s.y[i], digits),
          note: interval(s.low[i], s.high[i], digits) || (s.n > 1 ? "" : "one seed"),
        }];
      }),
    }),
  };
}

function profile(panel) {
  const own = each(panel.data);
  const all = own.flatMap((v) => Object.values(panel.data[v]).flatMap((d) => d.y));
  const range = extent(all);
  if (!range) return null;
  const depth = Math.max(...own.flatMap((v) => Object.values(panel.data[v]).map((d) => d.y.length)));
  const stops = Array.from({ length: depth }, (_, k) => k + 1);
  const lines = [], dots = [];
  for (const v of own) {
    const y = now(panel.data[v], "y");
    const first = panel.data[v][steps[0]];
    if (first && state.at !== 0) lines.push({ v, kind: "ghost", x: stops.slice(0, first.y.length), y: first.y });
    if (!y) continue;
    lines.push({ v, x: stops.slice(0, y.length), y });
    y.forEach((value, k) => dots.push({
      v, x: k + 1, y: value, full: !names.get(v).halves || k % 2 === 0,
      shape: names.get(v).halves && k % 2 === 1 ? "square" : "circle", r: 3.8,
    }));
  }
  const digits = panel.suffix === "°" ? 1 : 2;
  return {
    x: depth > 1 ? [1, depth] : [0, 2], y: [0, range[1] * 1.06 || 1], whole: true, stops, lines, dots,
    read: (k) => ({
      head: `sub-update ${k + 1}${half(own, k)}, step ${number(steps[state.at], 0)}${panel.suffix ? "" : `, ${panel.unit}`}`,
      rows: own.flatMap((v) => {
        const d = panel.data[v][steps[state.at]];
        if (!d || d.y[k] === null || d.y[k] === undefined) return [];
        return [{
          v, name: short(v), x: k + 1, y: d.y[k], value: number(d.y[k], digits) + panel.suffix,
          note: interval(d.low[k], d.high[k], digits),
        }];
      }),
    }),
  };
}

function half(own, k) {
  if (!own.length || !own.every((v) => names.get(v).halves)) return "";
  return k % 2 ? " (MLP)" : " (attention)";
}

function plane() {
  const found = data.plane.data, own = each(found);
  if (!own.length) return null;
  // By their own lengths, or as they are.
  const length = (p) => p.x.slice(1).reduce((sum, x, k) => sum + Math.hypot(x - p.x[k], p.y[k + 1] - p.y[k]), 0);
  const scaled = (p) => {
    const by = state.ownScale ? length(p) || 1 : 1;
    return { x: p.x.map((q) => q / by), y: p.y.map((q) => q / by) };
  };
  const everything = own.flatMap((v) => Object.values(found[v]).map(scaled));
  const x = extent(everything.flatMap((p) => p.x)), y = extent(everything.flatMap((p) => p.y));
  const lines = [], dots = [], points = new Map();
  for (const v of own) {
    const first = found[v][steps[0]];
    if (first && state.at !== 0) lines.push({ v, kind: "ghost", ...scaled(first) });
    const px = now(found[v], "x"), py = now(found[v], "y");
    if (!px) continue;
    const p = scaled({ x: px, y: py });
    lines.push({ v, ...p });
    p.x.forEach((q, k) => dots.push({
      v, x: q, y: p.y[k], full: k === p.x.length - 1 || !names.get(v).halves || k % 2 === 1,
      shape: k === p.x.length - 1 ? "diamond" : names.get(v).halves && k && k % 2 === 0 ? "square" : "circle",
      r: k === 0 ? 5 : 3.4,
    }));
    const d = found[v][steps[state.at]];
    if (d) points.set(v, { ...scaled(d), share: d.share });
  }
  const depth = Math.max(0, ...[...points.values()].map((p) => p.x.length - 1));
  const lengths = data.profiles.find((p) => p.name === "step_length");
  const angles = data.profiles.find((p) => p.name === "turning_angle");
  return {
    equal: true, label: state.ownScale ? "share of the path’s drawn length" : null, x: pad(x, 0.04), y: pad(y, 0.08), lines, dots,
    stops: Array.from({ length: depth + 1 }, (_, k) => k),
    read: (k) => ({
      head: k === 0 ? `x_0, the embedding, step ${number(steps[state.at], 0)}` : `after sub-update ${k}${half(own, k - 1)}, step ${number(steps[state.at], 0)}`,
      rows: [...points].flatMap(([v, p]) => {
        if (k >= p.x.length) return [];
        const at = (panel) => (panel && k > 0 && panel.data[v] && panel.data[v][steps[state.at]] || { y: [] }).y[k - 1];
        const step = at(lengths), turn = at(angles);
        const value = k === 0 ? "origin" : step === undefined || step === null ? "–" : `step ${number(step, 2)}`;
        return [{ v, name: short(v), x: p.x[k], y: p.y[k], value, note: turn === undefined || turn === null ? "" : `turn ${number(turn, 1)}°` }];
      }),
    }),
  };
}

function over(name) {
  const q = data.scalars.names.find((n) => n.name === name);
  const unit = name === "turning_angle" ? "°" : "";
  return () => {
    const own = each(data.scalars.data).filter((v) => steps.some((s) => data.scalars.data[v][s] && data.scalars.data[v][s][name][0] !== null));
    if (!own.length) return null;
    const of = (v, which) => steps.map((s) => (data.scalars.data[v][s] ? data.scalars.data[v][s][name][which] : null));
    const range = extent(own.flatMap((v) => of(v, 0).concat(of(v, 1))));
    return {
      x: [steps[0], steps[steps.length - 1]], y: [0, range[1] * 1.06 || 1], whole: true, stops: steps, mark: steps[state.at],
      lines: own.flatMap((v) => [{ v, kind: "seed", x: steps, y: of(v, 1) }, { v, x: steps, y: of(v, 0) }]),
      dots: own.flatMap((v) => steps.flatMap((s, k) => [
        { v, x: s, y: of(v, 1)[k], shape: "diamond" }, { v, x: s, y: of(v, 0)[k], full: true, r: 3.6 },
      ])),
      labels: own.map((v) => {
        const y = of(v, 0), k = y.findLastIndex((value) => value !== null);
        return { v, x: steps[k], y: y[k], text: short(v) };
      }),
      read: (k) => ({
        head: `step ${number(steps[k], 0)}, ${q.unit}`,
        rows: own.flatMap((v) => {
          const [value, null_] = [of(v, 0)[k], of(v, 1)[k]];
          if (value === null) return [];
          return [{ v, name: short(v), x: steps[k], y: value, value: number(value, q.digits) + unit, note: null_ === null ? "no null" : `null ${number(null_, q.digits)}${unit}` }];
        }),
      }),
    };
  };
}

const plots = [];
function plot(name, title, unit, label, height, model, bare) {
  // Only what has something to show when everything is switched on.
  if (!model()) return null;
  const made = new Plot({ name, title, unit, label, height, model, bare });
  plots.push(made);
  return made.root;
}

function figure(title, lead, parts, extra) {
  const shown = parts.filter(Boolean);
  if (!shown.length) return null;
  return html("section", { class: "figure" }, html("h3", {}, title), html("p", { class: "lead" }, lead),
    ...(extra ? [extra] : []), html("div", { class: shown.length > 1 ? "plots" : "" }, ...shown));
}

const middle = (width) => Math.round(Math.max(240, Math.min(320, width * 0.62)));
// As high as paths of one scale need, within reason.
const flat = (width, m) => 56 + Math.round(Math.max(150, Math.min(420, ((m.y[1] - m.y[0]) / (m.x[1] - m.x[0])) * (width - 60))));
const nats = "nats per character";
const many = [...(data.validation || []), ...((data.differences || {}).series || [])].some((s) => s.n > 1);

function figures() {
  const quality = figure(
    "Quality over training",
    `Validation loss, dropout off; a ring marks the best of a cell. ${many ? "Thin lines are seeds, the thick one their mean, the band its 95 % interval over seeds." : "One seed: there is no interval to draw."}`,
    [
      data.validation.length && plot("validation", "Validation loss", nats, "training step", middle, () => curves(data.validation, 4, nats, {})),
      data.differences && plot("differences", `Minus ${data.differences.reference}, paired by seed`, `${nats}, below 0 is better`, "training step", middle,
        () => curves(data.differences.series, 4, nats, { zero: true, band: true, from: 0.2 })),
    ]);
  const scale = html("div", { class: "choice", role: "group", "aria-label": "Scale of the paths" });
  for (const [own, text] of [[false, "One scale"], [true, "Each by its own length"]]) {
    const button = html("button", { type: "button", "aria-pressed": String(own === state.ownScale) }, text);
    button.addEventListener("click", () => {
      state.ownScale = own;
      for (const b of scale.children) b.setAttribute("aria-pressed", String(b === button));
      redraw();
    });
    scale.append(button);
  }
  const halves = data.variants.some((d) => d.halves) ? "Filled circles follow attention, hollow squares the MLP. " : "";
  const ghost = steps.length > 1 ? `The thin line is step ${number(steps[0], 0)}. ` : "";
  const path = data.plane && figure(
    "The path through depth, in a plane",
    (data.plane.projected
      ? "Each path is projected on the plane that holds most of its variance, fitted on the recorded states of all probe tokens; every variant has a plane of its own. "
      : "No directions were recorded: mean step lengths and mean turning angles are laid out, turning left and right in turn. This is a drawing of those numbers, not a projection. ")
      + `The start lies at the origin; at the last step the end (diamond) lies to its right. ${ghost}`,
    [plot("plane", "Paths", "", "units of the residual stream", flat, plane, true)],
    scale);
  const depth = figure(
    "Profiles through depth",
    `Means over the probe’s tokens, at the step of the slider. ${halves}${ghost}`,
    data.profiles.map((p, k) => plot(`profile-${k}`, p.title, p.unit, "sub-update", middle, () => profile(p))));
  const training = steps.length > 1 && figure(
    "The path over training",
    "Filled: measured. Hollow diamonds on thin lines: the null model, the same update over unrelated increments of the lengths measured at that step.",
    [["turning_angle", "Mean turning angle", "degrees"], ["straightness", "Straightness", "chord over path"]].map(([name, title, unit]) =>
      plot(`over-${name}`, title, unit, "training step", middle, over(name))));
  return { quality, path, depth, training };
}
