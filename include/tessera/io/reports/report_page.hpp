// SPDX-License-Identifier: Apache-2.0
// What every report's page has: its style, and the script that draws timelines and memory from the page's own data.
// Nothing is fetched.
#pragma once
#include "tessera/base/begin_header.inl"

namespace tessera::io::detail {

inline constexpr const char* report_style = R"css(
:root { color-scheme: light; }
body { font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif; color: #1d232a; margin: 0 auto; max-width: 1500px; padding: 0 24px 60px; background: #fff; }
h1 { font-size: 24px; margin: 24px 0 4px; }
h2 { font-size: 18px; margin: 36px 0 8px; border-bottom: 1px solid #d5dae0; padding-bottom: 4px; }
p.about { color: #59636e; margin: 0 0 10px; max-width: 1000px; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 16px 0; }
.card { border: 1px solid #d5dae0; border-radius: 6px; padding: 8px 14px; min-width: 120px; }
.card b { display: block; font-size: 19px; font-variant-numeric: tabular-nums; }
.card span { color: #59636e; font-size: 12.5px; }
.legend { display: flex; flex-wrap: wrap; gap: 14px; margin: 6px 0; font-size: 13px; align-items: center; }
.legend i { display: inline-block; width: 13px; height: 13px; border-radius: 2px; margin-right: 5px; vertical-align: -2px; }
button { font: inherit; padding: 1px 10px; }
canvas { display: block; width: 100%; cursor: grab; }
#tip { position: fixed; pointer-events: none; background: #1d232a; color: #fff; padding: 4px 9px; border-radius: 4px; font-size: 12.5px; display: none; max-width: 460px; z-index: 2; white-space: pre-line; }
table { border-collapse: collapse; font-size: 13px; }
th, td { text-align: left; padding: 2px 14px 2px 0; white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
th { color: #59636e; font-weight: 600; border-bottom: 1px solid #d5dae0; }
.bar { background: #e45756; height: 10px; border-radius: 2px; min-width: 1px; }
.scroll > table { margin: 6px 12px; width: calc(100% - 24px); }
.scroll td:last-child { width: 99%; padding-right: 0; }
.scroll { overflow: auto; max-height: 900px; border: 1px solid #d5dae0; border-radius: 6px; }
svg.network { font-family: system-ui, "DejaVu Sans", sans-serif; font-size: 11px; display: block; }
svg.network .op { fill: #f6f8fa; stroke: #8c959f; }
svg.network .name { font-weight: 600; }
svg.network .kind { fill: #59636e; }
svg.network .splits { fill: #0b4f9c; }
svg.network .bytes { fill: #b3261e; font-size: 10.5px; paint-order: stroke; stroke: #fff; stroke-width: 3px; }
svg.network path { fill: none; }
svg.network .stays { stroke: #b6bec7; }
svg.network .moves { stroke: #e45756; stroke-opacity: .75; }
pre { background: #f6f8fa; border: 1px solid #d5dae0; border-radius: 6px; padding: 10px; overflow: auto; font-size: 12.5px; }
details > summary { cursor: pointer; color: #0b4f9c; }
)css";

inline constexpr const char* report_script = R"js(
(function () {
  const axis = 22;
  let left = 190; // for names of rows; less where there is little room, as in a notebook's column
  const view = { from: 0, to: D.end || 1 };
  const charts = [];
  const tip = document.getElementById('tip');
  const ms = t => (t / 1e6).toFixed(t < 1e7 ? 4 : 3) + ' ms';
  const size = b => { const u = ['B', 'kB', 'MB', 'GB', 'TB']; let i = 0; while (b >= 999.5 && i < 4) { b /= 1000; ++i; } return (b >= 100 || i === 0 ? b.toFixed(0) : b.toPrecision(3)) + ' ' + u[i]; };
  const x = (c, t) => left + (t - view.from) / (view.to - view.from) * (c.width - left - 10);
  function ticks() {
    const range = (view.to - view.from) / 8, power = Math.pow(10, Math.floor(Math.log10(range)));
    const step = power * (range / power < 2 ? 2 : range / power < 5 ? 5 : 10), list = [];
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) list.push(t);
    return { list, digits: Math.max(0, Math.min(6, 6 - Math.floor(Math.log10(step)))) };
  }
  function begin(c, height) {
    const k = window.devicePixelRatio || 1;
    c.width = c.canvas.clientWidth;
    left = c.width < 720 ? 136 : 190;
    c.canvas.width = c.width * k; c.canvas.height = height * k; c.canvas.style.height = height + 'px';
    const p = c.canvas.getContext('2d');
    p.setTransform(k, 0, 0, k, 0, 0);
    p.font = '11.5px system-ui, "DejaVu Sans", sans-serif'; p.textBaseline = 'middle';
    p.fillStyle = '#fff'; p.fillRect(0, 0, c.width, height);
    const marks = ticks();
    for (const t of marks.list) {
      p.fillStyle = '#e6e9ed'; p.fillRect(Math.round(x(c, t)), axis, 1, height - axis);
      p.fillStyle = '#59636e'; p.textAlign = 'center';
      if (x(c, t) < c.width - 30) p.fillText((t / 1e6).toFixed(marks.digits), x(c, t), axis / 2);
    }
    p.textAlign = 'right'; p.fillStyle = '#59636e'; p.fillText('time in ms', left - 12, axis / 2);
    return p;
  }
  function label(p, text, y) {
    p.textAlign = 'right'; p.fillStyle = '#1d232a';
    let s = text;
    while (s.length > 4 && p.measureText(s).width > left - 18) s = s.slice(0, -2);
    p.fillText(s === text ? s : s + '\u2026', left - 8, y);
  }
  const timeline = {
    canvas: document.getElementById('timeline'),
    draw() {
      let y = axis + 2;
      for (const r of D.rows) { y += r.gap; r.y = y; y += r.height + 2; }
      const p = begin(this, y + 6);
      for (const r of D.rows) {
        p.fillStyle = r.kind === 'measured' ? '#eef4ec' : r.kind === 'link' ? '#f7f5f2' : '#f3f5f8';
        p.fillRect(left, r.y, this.width - left - 10, r.height);
        label(p, r.name, r.y + r.height / 2 + 0.5);
      }
      p.save(); p.beginPath(); p.rect(left, 0, this.width - left - 10, y + 6); p.clip();
      for (const r of D.rows) {
        let last = -1, lastKind = -1;
        for (let i = 0; i < r.spans.length; i += 4) {
          const a = x(this, r.spans[i]), b = x(this, r.spans[i + 1]), kind = r.spans[i + 2];
          if (b < left || a > this.width) continue;
          if (b - a < 0.4 && b <= last && kind === lastKind) continue; // hidden by the last one
          p.fillStyle = D.kinds[kind][1];
          p.fillRect(a, r.y, Math.max(b - a - (b - a > 3 ? 0.6 : 0), 0.5), r.height);
          last = Math.max(b, a + 0.5); lastKind = kind;
          if (b - a > 60 && r.height >= 12) {
            p.fillStyle = '#fff'; p.textAlign = 'left';
            const name = D.labels[r.spans[i + 3]];
            const room = Math.min(b, this.width - 10) - Math.max(a, left) - 8;
            if (p.measureText(name).width < room) p.fillText(name, Math.max(a, left) + 4, r.y + r.height / 2 + 0.5);
          }
        }
      }
      p.restore();
    },
    at(mx, my) {
      const t = view.from + (mx - left) / (this.width - left - 10) * (view.to - view.from);
      for (const r of D.rows) if (my >= r.y && my < r.y + r.height) {
        for (let i = 0; i < r.spans.length; i += 4) if (t >= r.spans[i] && t < r.spans[i + 1])
          return r.name + '\n' + D.labels[r.spans[i + 3]] + ' (' + D.kinds[r.spans[i + 2]][0] + ')\n' + ms(r.spans[i]) + ' to ' + ms(r.spans[i + 1]) + ', lasts ' + ms(r.spans[i + 1] - r.spans[i]);
        return r.name;
      }
    }
  };
  const tall = D.memory.length > 16 ? 26 : 44;
  const memory = {
    canvas: document.getElementById('memory'),
    draw() {
      const p = begin(this, axis + D.memory.length * (tall + 6) + 6);
      let most = 1;
      for (const m of D.memory) for (let i = 1; i < m.samples.length; i += 2) most = Math.max(most, m.samples[i]);
      D.memory.forEach((m, n) => {
        const top = axis + 4 + n * (tall + 6), h = b => b / most * (tall - 2);
        m.y = top;
        p.fillStyle = '#f3f5f8'; p.fillRect(left, top, this.width - left - 10, tall);
        let peak = 0;
        p.save(); p.beginPath(); p.rect(left, top, this.width - left - 10, tall); p.clip();
        p.fillStyle = '#7aa6d6'; p.beginPath(); p.moveTo(x(this, 0), top + tall);
        for (let i = 0; i < m.samples.length; i += 2) {
          const a = x(this, m.samples[i]), b = x(this, i + 2 < m.samples.length ? m.samples[i + 2] : D.end);
          p.lineTo(a, top + tall - h(m.samples[i + 1])); p.lineTo(b, top + tall - h(m.samples[i + 1]));
          peak = Math.max(peak, m.samples[i + 1]);
        }
        p.lineTo(x(this, D.end), top + tall); p.fill(); p.restore();
        label(p, m.name, top + tall / 2 - (tall > 30 ? 8 : 0));
        if (tall > 30) { p.fillStyle = '#59636e'; p.textAlign = 'right'; p.fillText('peak ' + size(peak), left - 8, top + tall / 2 + 8); }
      });
    },
    at(mx, my) {
      const t = view.from + (mx - left) / (this.width - left - 10) * (view.to - view.from);
      for (const m of D.memory) if (my >= m.y && my < m.y + tall) {
        let b = 0;
        for (let i = 0; i < m.samples.length && m.samples[i] <= t; i += 2) b = m.samples[i + 1];
        return m.name + '\n' + ms(t) + ': ' + size(b) + (m.capacity ? ' of ' + size(m.capacity) : '');
      }
    }
  };
  charts.push(timeline, memory);
  const draw = () => charts.forEach(c => c.draw());
  function zoom(factor, middle) {
    const range = Math.max(50, Math.min(D.end, (view.to - view.from) * factor)), share = (middle - view.from) / (view.to - view.from);
    view.from = Math.max(0, Math.min(D.end - range, middle - share * range)); view.to = view.from + range; draw();
  }
  const middle = () => (view.from + view.to) / 2;
  document.getElementById('closer').onclick = () => zoom(0.5, middle());
  document.getElementById('farther').onclick = () => zoom(2, middle());
  document.getElementById('whole').onclick = () => { view.from = 0; view.to = D.end || 1; draw(); };
  for (const c of charts) {
    let held = null;
    const time = e => view.from + (e.offsetX - left) / (c.width - left - 10) * (view.to - view.from);
    c.canvas.addEventListener('wheel', e => { if (!e.ctrlKey && !e.shiftKey) return; e.preventDefault(); zoom((e.deltaY || e.deltaX) > 0 ? 1.25 : 0.8, time(e)); }, { passive: false });
    c.canvas.addEventListener('pointerdown', e => { held = time(e); c.canvas.setPointerCapture(e.pointerId); });
    c.canvas.addEventListener('pointerup', () => { held = null; });
    c.canvas.addEventListener('pointermove', e => {
      if (held !== null) {
        const range = view.to - view.from;
        view.from = Math.max(0, Math.min(D.end - range, view.from + held - time(e))); view.to = view.from + range; draw();
      }
      const text = e.offsetX > left ? c.at(e.offsetX, e.offsetY) : '';
      tip.style.display = text ? 'block' : 'none'; tip.textContent = text || '';
      tip.style.left = Math.min(e.clientX + 14, innerWidth - 320) + 'px'; tip.style.top = e.clientY + 14 + 'px';
    });
    c.canvas.addEventListener('pointerleave', () => { tip.style.display = 'none'; });
  }
  addEventListener('resize', draw);
  draw();
})();
)js";

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
