// Small drawings of lines: axes, marks, a cursor for pointer, finger and keyboard.

const NS = document.getElementById("svg").namespaceURI;
const reduced = matchMedia("(prefers-reduced-motion: reduce)");

function attributes(node, values) {
  for (const [name, value] of Object.entries(values || {})) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  return node;
}

function html(tag, values, ...children) {
  const node = attributes(document.createElement(tag), values);
  node.append(...children);
  return node;
}

function svg(tag, values, ...children) {
  const node = attributes(document.createElementNS(NS, tag), values);
  node.append(...children);
  return node;
}

function number(value, digits) {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value).toLocaleString("en-US", {
    minimumFractionDigits: digits, maximumFractionDigits: digits,
  });
  return value < 0 && /[1-9]/.test(text) ? "−" + text : text;
}

// Three digits that say something, thousands never rounded.
function brief(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return number(value, size >= 100 ? 1 : size >= 10 ? 2 : size >= 0.1 ? 3 : 4);
}

function ticks(low, high, count, whole) {
  const raw = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 2.5, 5, 10].find((m) => m * power >= raw * 0.999) * power;
  if (whole) step = Math.max(1, Math.round(step));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) found.push(k * step);
  const digits = whole ? 0 : Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9) + (/^2\.5/.test(String(step / power)) ? 1 : 0)));
  return found.map((value) => [value, number(value, digits)]);
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

// Places near the wanted ones, in their order, at least `gap` apart.
function spread(wanted, gap, low, high) {
  const order = wanted.map((_, k) => k).sort((a, b) => wanted[a] - wanted[b]);
  const room = Math.min(gap, (high - low) / Math.max(wanted.length - 1, 1));
  const places = [];
  const blocks = [];
  order.forEach((k, place) => {
    let value = wanted[k] - place * room, size = 1;
    while (blocks.length && blocks[blocks.length - 1][0] > value) {
      const [before, n] = blocks.pop();
      value = (before * n + value * size) / (n + size);
      size += n;
    }
    blocks.push([value, size]);
  });
  let place = 0;
  for (const [value, size] of blocks) {
    for (let i = 0; i < size; i += 1, place += 1) {
      const most = high - (wanted.length - 1) * room;
      places[order[place]] = Math.max(low, Math.min(value, most)) + place * room;
    }
  }
  return places;
}

function look(v) {
  return `v${v % 8} d${v % 9}`;
}

function swatch(v) {
  return svg("svg", { class: `swatch ${look(v)}`, width: 26, height: 8, "aria-hidden": "true" },
    svg("path", { d: "M1 4H25" }));
}

// spec: title, unit, label (of x), height(width), model() -> what is drawn now, or null.
class Plot {
  constructor(spec) {
    this.spec = spec;
    this.stop = null;
    this.area = html("div", {
      class: "area", tabindex: 0, role: "slider", "aria-label": `${spec.title}: read the values`,
      "aria-orientation": "horizontal",
    });
    this.tip = html("div", { class: "tip", hidden: true });
    this.root = html("div", { class: "plot", "data-plot": spec.name },
      html("h4", { class: spec.bare ? "unseen" : null }, spec.title, " ", html("small", {}, spec.unit)), this.area);
    this.area.addEventListener("pointermove", (event) => this.point(event));
    this.area.addEventListener("pointerdown", (event) => this.point(event));
    this.area.addEventListener("pointerleave", (event) => {
      // A finger lifts and the numbers stay to be read; a mouse goes away with them.
      if (event.pointerType === "mouse" && document.activeElement !== this.area) this.pick(null);
    });
    this.area.addEventListener("blur", () => this.pick(null));
    this.area.addEventListener("focus", () => {
      if (this.stop === null && this.area.matches(":focus-visible")) this.pick(this.last);
    });
    this.area.addEventListener("keydown", (event) => this.key(event));
  }

  get last() {
    return this.model ? this.model.stops.length - 1 : null;
  }

  draw(width) {
    this.width = Math.max(220, Math.floor(width || this.area.clientWidth));
    this.model = this.spec.model();
    this.area.replaceChildren();
    if (!this.model) {
      this.area.append(html("p", { class: "empty" }, "Every variant with these numbers is switched off."));
      this.area.setAttribute("aria-disabled", "true");
      this.stop = null;
      return;
    }
    this.area.removeAttribute("aria-disabled");
    this.height = this.spec.height(this.width, this.model);
    this.frame();
    this.lines();
    this.over = svg("g", { "aria-hidden": "true" });
    this.picture.append(this.over);
    this.area.append(this.picture, this.tip);
    if (this.stop !== null && this.stop > this.last) this.stop = this.last;
    this.mark();
  }

  frame() {
    const m = this.model;
    const labels = m.labels && this.width >= 440 ? m.labels : [];
    const longest = Math.max(0, ...labels.map((l) => l.text.length));
    const right = labels.length ? Math.min(30 + longest * 7, this.width * 0.3) : 10;
    const rows = ticks(m.y[0], m.y[1], Math.max(2, this.height / 62));
    const left = 14 + 7.2 * Math.max(...rows.map(([, text]) => text.length), 1);
    this.box = { left, right: this.width - right, top: 8, bottom: this.height - 40 };
    const box = this.box;
    if (m.equal) {
      // One scale for both axes, the picture in the middle.
      const unit = Math.min((box.right - box.left) / (m.x[1] - m.x[0]), (box.bottom - box.top) / (m.y[1] - m.y[0]));
      const grow = (range, room) => {
        const more = (room / unit - (range[1] - range[0])) / 2;
        return [range[0] - more, range[1] + more];
      };
      this.xs = grow(m.x, box.right - box.left);
      this.ys = grow(m.y, box.bottom - box.top);
    } else {
      this.xs = m.x;
      this.ys = m.y;
    }
    this.toX = (x) => box.left + ((x - this.xs[0]) / (this.xs[1] - this.xs[0] || 1)) * (box.right - box.left);
    this.toY = (y) => box.bottom - ((y - this.ys[0]) / (this.ys[1] - this.ys[0] || 1)) * (box.bottom - box.top);
    this.picture = svg("svg", { viewBox: `0 0 ${this.width} ${this.height}`, "aria-hidden": "true", focusable: "false" });
    const grid = svg("g", {});
    for (const [value, text] of ticks(this.ys[0], this.ys[1], Math.max(2, this.height / 62))) {
      const y = this.toY(value).toFixed(1);
      grid.append(svg("path", { class: "grid", d: `M${box.left} ${y}H${box.right}` }),
        svg("text", { x: box.left - 7, y: +y + 4, "text-anchor": "end" }, text));
    }
    for (const [value, text] of ticks(this.xs[0], this.xs[1], Math.max(2, (box.right - box.left) / 76), m.whole)) {
      const x = this.toX(value).toFixed(1);
      grid.append(svg("path", { class: m.equal ? "grid" : "axis", d: m.equal ? `M${x} ${box.top}V${box.bottom}` : `M${x} ${box.bottom}v5` }),
        svg("text", { x, y: box.bottom + 19, "text-anchor": "middle" }, text));
    }
    grid.append(svg("path", { class: "axis", d: `M${box.left} ${box.bottom}H${box.right}` }),
      svg("text", { x: box.right, y: box.bottom + 36, "text-anchor": "end" }, m.label || this.spec.label));
    if (m.zero && this.ys[0] < 0) grid.append(svg("path", { class: "zero", d: `M${box.left} ${this.toY(0).toFixed(1)}H${box.right}` }));
    if (m.mark !== undefined) grid.append(svg("path", { class: "grid here", d: `M${this.toX(m.mark).toFixed(1)} ${box.top}V${box.bottom}` }));
    this.picture.append(grid);
    this.ends(labels);
  }

  ends(labels) {
    const shown = labels.filter((l) => l.y !== null);
    const wanted = shown.map((l) => Math.max(this.box.top, Math.min(this.toY(l.y), this.box.bottom)));
    const places = spread(wanted, 17, this.box.top + 4, this.box.bottom - 4);
    shown.forEach((l, k) => {
      this.picture.append(
        svg("path", { class: `leader ${look(l.v)}`, d: `M${this.toX(l.x) + 4} ${wanted[k].toFixed(1)}L${this.box.right + 14} ${places[k].toFixed(1)}` }),
        svg("text", { class: "name", x: this.box.right + 18, y: places[k] + 4 }, l.text));
    });
  }

  clipped(y) {
    return Math.max(this.box.top - 40, Math.min(this.toY(y), this.box.bottom + 40));
  }

  path(xs, ys) {
    let text = "", on = false;
    xs.forEach((x, k) => {
      const y = ys[k];
      if (y === null || y === undefined || x === null) { on = false; return; }
      text += `${on ? "L" : "M"}${this.toX(x).toFixed(1)} ${this.clipped(y).toFixed(1)}`;
      on = true;
    });
    return text;
  }

  lines() {
    const id = `clip-${this.spec.name}`, box = this.box;
    this.picture.append(svg("clipPath", { id }, svg("rect", {
      x: box.left - 6, y: box.top - 6, width: box.right - box.left + 12, height: box.bottom - box.top + 12,
    })));
    const group = svg("g", { "clip-path": `url(#${id})` });
    for (const b of this.model.bands || []) {
      const known = b.x.map((x, k) => [x, b.low[k], b.high[k]]).filter((p) => p[1] !== null && p[2] !== null);
      if (known.length < 2) continue;
      const up = known.map(([x, , h]) => `${this.toX(x).toFixed(1)} ${this.clipped(h).toFixed(1)}`);
      const down = known.map(([x, l]) => `${this.toX(x).toFixed(1)} ${this.clipped(l).toFixed(1)}`).reverse();
      group.append(svg("path", { class: `band ${look(b.v)}`, d: `M${up.concat(down).join("L")}Z` }));
    }
    for (const l of this.model.lines) {
      group.append(svg("path", { class: `${l.kind || "line"} ${look(l.v)}`, "data-v": l.v, d: this.path(l.x, l.y) }));
    }
    for (const d of this.model.dots || []) {
      if (d.y === null || d.y === undefined) continue;
      const x = this.toX(d.x), y = this.clipped(d.y);
      const cls = `${d.full ? "full" : "hollow"} ${look(d.v)}`;
      if (d.shape === "square") group.append(svg("rect", { class: cls, x: x - 3.6, y: y - 3.6, width: 7.2, height: 7.2 }));
      else if (d.shape === "diamond") group.append(svg("path", { class: cls, d: `M${x} ${y - 5}l5 5-5 5-5-5z` }));
      else group.append(svg("circle", { class: cls, cx: x, cy: y, r: d.r || 4.2 }));
    }
    this.picture.append(group);
  }

  point(event) {
    if (!this.model) return;
    const bounds = this.picture.getBoundingClientRect();
    const scale = this.width / bounds.width;
    const x = (event.clientX - bounds.left) * scale, y = (event.clientY - bounds.top) * scale;
    let best = null, least = Infinity;
    this.model.stops.forEach((stop, k) => {
      let far = Math.abs(this.toX(stop) - x);
      if (this.model.equal) {
        far = Infinity;
        for (const row of this.model.read(k).rows) {
          if (row.y === null) continue;
          far = Math.min(far, Math.hypot(this.toX(row.x) - x, this.toY(row.y) - y));
        }
      }
      if (far < least) [best, least] = [k, far];
    });
    if (best !== null) this.pick(best);
  }

  key(event) {
    if (!this.model) return;
    const now = this.stop === null ? this.last : this.stop;
    const to = {
      ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1,
      PageDown: now - 5, PageUp: now + 5, Home: 0, End: this.last,
    }[event.key];
    if (event.key === "Escape") this.pick(null);
    else if (to !== undefined) {
      this.pick(Math.max(0, Math.min(to, this.last)));
      event.preventDefault();
    }
  }

  pick(stop) {
    this.stop = stop;
    this.mark();
  }

  mark() {
    if (!this.model) return;
    const area = this.area, spoken = this.stop === null ? this.last : this.stop;
    attributes(area, { "aria-valuemin": 0, "aria-valuemax": this.last, "aria-valuenow": spoken });
    const read = this.model.read(spoken);
    const rows = read.rows;
    area.setAttribute("aria-valuetext", `${read.head}: ${rows.map((r) => `${r.name} ${r.value}${r.note ? ` ${r.note}` : ""}`).join(", ") || "nothing known"}`);
    this.over.replaceChildren();
    this.tip.hidden = this.stop === null;
    if (this.stop === null) return;
    const x = this.toX(this.model.stops[this.stop]);
    if (!this.model.equal) this.over.append(svg("path", { class: "cursor", d: `M${x} ${this.box.top}V${this.box.bottom}` }));
    for (const r of rows) {
      if (r.y === null || r.y === undefined) continue;
      this.over.append(svg("circle", { class: `picked ${look(r.v)}`, cx: this.toX(r.x), cy: this.clipped(r.y), r: 6.5 }));
    }
    this.tip.replaceChildren(html("b", {}, read.head), ...rows.map((r) => html("div", {}, swatch(r.v),
      html("span", {}, r.name), html("span", {}, r.value, r.note ? html("small", {}, ` ${r.note}`) : ""))));
    if (!rows.length) this.tip.append("nothing known here");
    // Beside the cursor, on the side that has room.
    const scale = area.clientWidth / this.width, tip = this.tip;
    const anchor = (this.model.equal && rows.length ? Math.max(...rows.map((r) => this.toX(r.x))) : x) * scale;
    let left = anchor + 16;
    if (left + tip.offsetWidth > area.clientWidth) {
      const low = this.model.equal && rows.length ? Math.min(...rows.map((r) => this.toX(r.x))) * scale : anchor;
      left = low - 16 - tip.offsetWidth;
    }
    tip.style.left = `${Math.max(0, Math.min(left, area.clientWidth - tip.offsetWidth))}px`;
    // Above a narrow figure, which it would hide, unless that is off the screen.
    const room = area.getBoundingClientRect().top - tip.offsetHeight - 6;
    const bar = document.querySelector(".sticky");
    const above = this.width < 440 && room > (bar ? bar.getBoundingClientRect().bottom : 0);
    tip.style.top = above ? `${-tip.offsetHeight - 6}px` : "6px";
  }
}
