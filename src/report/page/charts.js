'use strict';
// Small inline SVG charts. Every text is set as text.
const SVG = 'http://www.w3.org/2000/svg';

function svg(name, attributes, parent, text) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

function html(name, attributes, parent, text) {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

const short = x => x >= 100 ? x.toFixed(0) : +(x >= 10 ? x.toFixed(1) : x >= 0.1 || x === 0 ? x.toFixed(2) : x.toPrecision(2)) + '';

// A figure with an empty plot; `label` is what a screen reader says of it.
function figure(title, label, caption, width, full, height = 230) {
  const box = html('figure', full ? {class: 'full'} : {}, document.getElementById('charts'));
  html('h3', {}, box, title);
  const plot = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label}, box);
  if (caption) html('figcaption', {}, box, caption);
  return {plot, width, height, left: 60, right: width - 12, top: 10, bottom: height - 30};
}

function logScale(low, high, from, to) {
  const a = Math.log(low), b = Math.log(high);
  return x => from + (Math.log(Math.min(Math.max(x, low), high)) - a) / (b - a || 1) * (to - from);
}

// Powers of ten, or 1-2-5 steps where few of these lie between.
function logTicks(low, high) {
  const ticks = [];
  for (const steps of [[1], [1, 2, 5], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]]) {
    ticks.length = 0;
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) {
      for (const s of steps) {
        const t = s * Math.pow(10, e);
        if (t >= low * 0.999 && t <= high * 1.001) ticks.push(t);
      }
    }
    if (ticks.length > 2) break;
  }
  return ticks;
}

function yAxis(f, scale, ticks, unit) {
  for (const t of ticks) {
    svg('line', {class: 'axis', x1: f.left, x2: f.right, y1: scale(t), y2: scale(t)}, f.plot);
    svg('text', {x: f.left - 6, y: scale(t) + 4, 'text-anchor': 'end'}, f.plot, short(t) + unit);
  }
}

function xTicks(f, scale, ticks, unit) {
  for (const t of ticks) {
    const last = scale(t) > f.right - 20;
    svg('text', {x: scale(t), y: f.bottom + 16, 'text-anchor': last ? 'end' : 'middle'}, f.plot, short(t) + unit);
  }
}

function range(values) {
  const low = Math.min(1, ...values), high = Math.max(1, ...values);
  return [low / 1.15, high * 1.15];
}

function speedupChart(problems) {
  const timed = problems.filter(p => p.speedup);
  if (!timed.length) return;
  const wins = timed.filter(p => p.speedup[0] > 1).length;
  const f = figure('Speedup by problem', `Bars of the speedup of ${timed.length} problems; ${wins} are above 1. The table below has the numbers.`,
    'Over the deciding baseline, logarithmic; pale: the problem is degenerate. The dashed line is 1x.', 900, true);
  const [low, high] = range(timed.map(p => p.speedup[0]));
  const y = logScale(low, high, f.bottom, f.top);
  yAxis(f, y, logTicks(low, high), 'x');
  const step = (f.right - f.left) / timed.length;
  timed.forEach((p, i) => {
    const v = p.speedup[0], top = Math.min(y(v), y(1)), tall = Math.max(Math.abs(y(v) - y(1)), 1);
    const bar = svg('rect', {class: (v > 1 ? 'good' : 'bad') + (p.degenerate ? ' weak' : ''), x: f.left + i * step + step * 0.1,
      width: Math.max(step * 0.8, 0.6), y: top, height: tall}, f.plot);
    svg('title', {}, bar, `${p.name}: ${p.estimated ? '~' : ''}${short(v)}x`);
  });
  svg('line', {class: 'one', x1: f.left, x2: f.right, y1: y(1), y2: y(1)}, f.plot);
}

function fastChart(problems) {
  if (problems.length < 2) return;
  const speedups = problems.filter(p => p.outcome === 'correct' && p.speedup).map(p => p.speedup[0]).sort((a, b) => a - b);
  if (!speedups.length) return;
  const share = p => speedups.filter(s => s > p).length / problems.length;
  const f = figure('fast_p', `Share of problems that are correct and faster than p times the baseline: ${[0.5, 1, 1.5, 2]
    .map(p => `${Math.round(100 * share(p))} percent above ${p}`).join(', ')}.`,
    'Share of all problems that are correct and more than p times as fast as the baseline.', 430);
  const high = Math.max(2, Math.min(speedups[speedups.length - 1] * 1.1, 10));
  const x = p => f.left + p / high * (f.right - f.left), y = s => f.bottom - s * (f.bottom - f.top);
  yAxis(f, y, [0, 0.25, 0.5, 0.75, 1], '');
  const step = high > 5 ? 2 : high > 2.5 ? 1 : 0.5;
  xTicks(f, x, Array.from({length: Math.floor(high / step) + 1}, (_, i) => i * step), 'x');
  let path = `M${x(0)},${y(share(0))}`;
  for (const s of speedups) if (s < high) path += `L${x(s)},${y(share(s - 1e-12))}L${x(s)},${y(share(s))}`;
  svg('path', {class: 'path', d: path + `L${x(high)},${y(share(high))}`}, f.plot);
  svg('line', {class: 'one', x1: x(1), x2: x(1), y1: f.top, y2: f.bottom}, f.plot);
}

// Best so far, the geometric mean over problems, by attempt or by what was spent.
function progressChart(problems, by) {
  const searched = problems.filter(p => p.curve.length > 1 && p.curve.some(c => c[0] !== null));
  if (!searched.length) return;
  const points = [];
  if (by === 'attempt') {
    const longest = Math.max(...searched.map(p => p.curve.length));
    for (let i = 0; i < longest; ++i) points.push([i, p => p.curve[Math.min(i, p.curve.length - 1)]]);
  } else {
    const end = Math.max(...searched.map(p => p.curve[p.curve.length - 1][1]));
    if (end <= 0) return;
    for (let i = 0; i <= 100; ++i) {
      const spent = end * i / 100;
      points.push([spent, p => { let at = p.curve[0]; for (const c of p.curve) if (c[1] <= spent) at = c; return at; }]);
    }
  }
  const line = points.map(([x, of]) => {
    const values = searched.map(of).map(c => c[0]).filter(v => v !== null);
    return [x, values.length ? Math.exp(values.reduce((s, v) => s + Math.log(v), 0) / values.length) : null];
  }).filter(p => p[1] !== null);
  const what = by === 'attempt' ? 'attempts' : 'tokens for each problem';
  const last = line[line.length - 1];
  const f = figure(by === 'attempt' ? 'Best so far by attempt' : 'Best so far by tokens',
    `The best speedup so far against ${what}: from ${short(line[0][1])} to ${short(last[1])}.`,
    (searched.length > 1 ? `Geometric mean over ${searched.length} problems` : 'Speedup') + ` against ${what}.`, 430);
  const [low, high] = range(line.map(p => p[1]));
  const y = logScale(low, high, f.bottom, f.top), end = Math.max(last[0], 1);
  const x = v => f.left + v / end * (f.right - f.left);
  yAxis(f, y, logTicks(low, high), 'x');
  xTicks(f, x, [0, Math.round(end / 2), end], '');
  let path = '';
  line.forEach((p, i) => { path += i ? `H${x(p[0])}V${y(p[1])}` : `M${x(p[0])},${y(p[1])}`; });
  svg('path', {class: 'path', d: path}, f.plot);
}

function floorChart(problems) {
  const known = problems.filter(p => p.floor > 0 && p.ms > 0);
  if (!known.length) return;
  const f = figure('Time against the memory floor', `${known.length} kernels: their time against the least time that the bytes need.`,
    'On the line the device\'s memory is the only limit; nothing honest is below it.', 430);
  const all = known.flatMap(p => [p.floor, p.ms]);
  const low = Math.min(...all) / 1.5, high = Math.max(...all) * 1.5;
  const x = logScale(low, high, f.left, f.right), y = logScale(low, high, f.bottom, f.top);
  yAxis(f, y, logTicks(low, high), ' ms');
  xTicks(f, x, logTicks(low, high), '');
  svg('line', {class: 'one', x1: x(low), y1: y(low), x2: x(high), y2: y(high)}, f.plot);
  for (const p of known) {
    const dot = svg('circle', {class: 'mark', cx: x(p.floor), cy: y(p.ms), r: 3.5}, f.plot);
    svg('title', {}, dot, `${p.name}: ${short(p.ms)} ms, floor ${short(p.floor)} ms`);
  }
}

function verdictChart(problems) {
  const counts = {};
  for (const p of problems) for (const v in p.verdicts) counts[v] = (counts[v] || 0) + p.verdicts[v];
  const rows = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  if (!rows.length) return;
  const step = 24;
  const f = figure('Verdicts of all attempts', rows.map(r => `${r[0]}: ${r[1]}`).join(', '), '', 430, false, rows.length * step + 16);
  const most = rows[0][1];
  rows.forEach(([name, count], i) => {
    const y = f.top + i * step;
    svg('text', {x: 122, y: y + step * 0.6, 'text-anchor': 'end'}, f.plot, name);
    svg('rect', {class: name === 'ok' ? 'good' : 'bad', x: 130, y: y + step * 0.1, width: Math.max(count / most * 230, 1), height: step * 0.65}, f.plot);
    svg('text', {x: 136 + count / most * 230, y: y + step * 0.6}, f.plot, count);
  });
}
