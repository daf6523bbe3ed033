// The page: facts, scores, charts, and the table of problems, whose attempts are read when one is opened.
const data = JSON.parse(document.getElementById('overview').textContent);
document.getElementById('title').textContent = data.title;
for (const [name, value] of data.facts || []) {
  html('dt', {}, document.getElementById('facts'), name);
  html('dd', {}, document.getElementById('facts'), value);
}

if (data.scores.length) {
  const section = document.getElementById('scores');
  section.hidden = false;
  const table = html('table', {}, section.querySelector('.wide'));
  data.scores.forEach((cells, i) => {
    const row = html('tr', {}, html(i ? 'tbody' : 'thead', {}, table));
    cells.forEach((cell, j) => html(i && j ? 'td' : 'th', Object.assign(j ? {class: 'number'} : {}, i && j ? {} : {scope: i ? 'row' : 'col'}), row, cell));
  });
}

speedupChart(data.problems);
fastChart(data.problems);
progressChart(data.problems, 'attempt');
progressChart(data.problems, 'tokens');
floorChart(data.problems);
verdictChart(data.problems);

// Lines of `b` against those of `a`: [' ' | '+' | '-', line]. Myers' greedy algorithm, given up where they hardly agree.
function diff(a, b) {
  const n = a.length, m = b.length, limit = Math.min(n + m, 1500);
  const trace = [];
  let v = {1: 0};
  for (let d = 0; d <= limit; ++d) {
    const next = Object.assign({}, v);
    trace.push(v);
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && (v[k - 1] ?? -1) < (v[k + 1] ?? -1)) ? v[k + 1] ?? 0 : (v[k - 1] ?? 0) + 1;
      let y = x - k;
      while (x < n && y < m && a[x] === b[y]) { ++x; ++y; }
      next[k] = x;
      if (x >= n && y >= m) return walk(trace.concat([next]), a, b, d);
    }
    v = next;
  }
  return a.map(line => ['-', line]).concat(b.map(line => ['+', line]));
}

function walk(trace, a, b, depth) {
  const out = [];
  let x = a.length, y = b.length;
  for (let d = depth; d >= 0; --d) {
    const v = trace[d], k = x - y;
    const down = k === -d || (k !== d && (v[k - 1] ?? -1) < (v[k + 1] ?? -1));
    const from = d === 0 ? 0 : down ? v[k + 1] ?? 0 : v[k - 1] ?? 0, fromY = d === 0 ? 0 : from - (down ? k + 1 : k - 1);
    while (x > from && y > fromY) out.push([' ', a[--x]]), --y;
    if (d > 0) out.push(down ? ['+', b[--y]] : ['-', a[--x]]);
  }
  return out.reverse();
}

function showDiff(before, after, parent) {
  const rows = diff(before.split('\n'), after.split('\n'));
  const pre = html('pre', {tabindex: '0'}, parent);
  let hidden = 0;
  const flush = () => { if (hidden) html('span', {class: 'same'}, pre, `@@ ${hidden} equal lines @@`); hidden = 0; };
  rows.forEach(([sign, line], i) => {
    const near = rows.slice(Math.max(0, i - 3), i + 4).some(r => r[0] !== ' ');
    if (!near) return void ++hidden;
    flush();
    html('span', {class: sign === '+' ? 'add' : sign === '-' ? 'cut' : 'same'}, pre, sign + ' ' + line);
  });
  flush();
}

// A block that is filled when it is first opened.
function lazy(title, parent, fill) {
  const block = html('details', {}, parent);
  html('summary', {}, block, title);
  block.addEventListener('toggle', () => { if (block.open && !block.dataset.filled) { block.dataset.filled = '1'; fill(block); } });
  return block;
}

function attemptTitle(a) {
  const figures = [a.verdict];
  if (a.ms !== undefined) figures.push(short(a.ms) + ' ms');
  if (a.speedup !== undefined) figures.push(short(a.speedup) + 'x');
  if (a.tokens) figures.push(a.tokens + ' tokens');
  if (a.best) figures.push('new best');
  return `attempt ${a.n}, ${a.origin}: ${figures.join(', ')}`;
}

function showAttempts(index, cell) {
  const problem = data.problems[index];
  if (problem.message) html('p', {}, cell, problem.message);
  if (problem.degenerate) html('p', {class: 'no'}, cell, 'Degenerate problem: ' + problem.degenerate);
  const store = document.getElementById('details-' + index);
  if (!store) return void html('p', {}, cell, 'No attempts are kept for it.');
  const attempts = JSON.parse(store.textContent);
  const byNumber = new Map(attempts.map(a => [a.n, a]));
  for (const a of attempts) {
    lazy(attemptTitle(a), cell, block => {
      html('p', {}, block, a.message);
      if (a.note) html('p', {}, block, a.note);
      const parent = byNumber.get(a.parent);
      if (parent) lazy(`Difference to attempt ${a.parent}`, block, inner => showDiff(parent.source, a.source, inner));
      lazy('Source', block, inner => html('pre', {tabindex: '0'}, inner, a.source));
      if (a.feedback) lazy('Feedback', block, inner => html('pre', {tabindex: '0'}, inner, a.feedback));
    });
  }
}

const columns = [
  {name: 'problem', of: p => p.name, key: (p, i) => i},
  {name: 'result', of: p => p.outcome, key: p => p.outcome},
  {name: 'speedup', number: true, of: p => p.speedup ? `${p.estimated ? '~' : ''}${short(p.speedup[0])}x` : '', key: p => p.speedup ? p.speedup[0] : -1},
  {name: 'interval', number: true, of: p => p.speedup ? `${short(p.speedup[1])} to ${short(p.speedup[2])}` : '', key: p => p.speedup ? p.speedup[1] : -1},
  {name: 'ms', number: true, of: p => p.ms === undefined ? '' : short(p.ms), key: p => p.ms ?? -1},
  {name: 'attempts', number: true, of: p => p.attempts || '', key: p => p.attempts},
  {name: 'tokens', number: true, of: p => p.tokens || '', key: p => p.tokens},
  {name: 'seconds', number: true, of: p => short(p.seconds), key: p => p.seconds},
];
const table = document.getElementById('table');
const order = data.problems.map((p, i) => i);

function head() {
  const row = html('tr', {}, table.tHead);
  for (const column of columns) {
    const cell = html('th', Object.assign({scope: 'col'}, column.number ? {class: 'number'} : {}), row);
    html('button', {type: 'button'}, cell, column.name).addEventListener('click', () => {
      const down = cell.getAttribute('aria-sort') === 'ascending';
      for (const other of row.cells) other.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = i => column.key(data.problems[i], i);
      order.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a - b) * (down ? -1 : 1));
      body();
    });
  }
}

function toggle(button, row, index) {
  const open = button.getAttribute('aria-expanded') !== 'true';
  button.setAttribute('aria-expanded', open);
  if (!open) return row.nextSibling.remove();
  const detail = html('tr', {class: 'detail'});
  row.after(detail);
  showAttempts(index, html('td', {colspan: columns.length}, detail));
}

function body() {
  const wanted = document.getElementById('filter').value.toLowerCase();
  table.tBodies[0].replaceChildren();
  let shown = 0;
  for (const index of order) {
    const p = data.problems[index];
    if (wanted && !(p.name + ' ' + p.outcome).toLowerCase().includes(wanted)) continue;
    ++shown;
    const row = html('tr', {}, table.tBodies[0]);
    columns.forEach((column, i) => {
      const cell = html('td', {}, row);
      if (column.number) cell.className = 'number';
      if (column.name === 'result') cell.className = p.outcome === 'correct' ? 'ok' : 'no';
      if (i) return void (cell.textContent = column.of(p));
      const button = html('button', {type: 'button', 'aria-expanded': 'false'}, cell, column.of(p));
      button.addEventListener('click', () => toggle(button, row, index));
    });
  }
  document.getElementById('shown').textContent = `${shown} of ${data.problems.length} problems`;
}

head();
body();
document.getElementById('filter').addEventListener('input', body);
if (data.problems.length === 1) table.tBodies[0].querySelector('button').click();
document.documentElement.dataset.ready = Math.round(performance.now());
