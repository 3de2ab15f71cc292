(() => {
  'use strict';
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const data = JSON.parse(document.getElementById('page-data').textContent);
  const status = document.querySelector('.status');
  const verdicts = ['cheaper', 'dearer', 'faster', 'slower', 'same', 'inconclusive', 'bad', 'keep'];

  const say = (text) => { status.textContent = text; };

  // The line below a figure: the number of a note, which is a link, or a text.
  const below = (element, text, note) => {
    if (note === null) { element.textContent = text; return; }
    const link = document.createElement('a');
    link.href = '#note-' + note;
    link.ariaLabel = 'note ' + note;
    link.textContent = '[' + note + ']';
    element.replaceChildren(link, text && ' ' + text);
  };

  // The reference: everything is computed already, here it is only put in place.
  const choose = (at) => {
    for (const element of all('[data-view]')) element.hidden = element.dataset.view !== String(at);
    for (const [id, [text, sub, kind, order, note]] of Object.entries(data.fields[at])) {
      const field = document.getElementById(id);
      if (!field) continue;
      field.querySelector('.v').textContent = text;
      below(field.querySelector('.sub'), sub, note);
      field.classList.remove(...verdicts);
      field.classList.add(...kind.split(' ').filter(Boolean));
      if (order === null) delete field.dataset.sort; else field.dataset.sort = order;
    }
    for (const button of all('[data-reference]')) {
      button.setAttribute('aria-pressed', String(button.dataset.reference === String(at)));
    }
    for (const table of all('table.sortable')) sort(table);
    say('Compared with ' + data.names[at] + '.');
  };

  // A figure; infinite, after all others, if there is none.
  const figure = (field) => {
    if (!field) return Infinity;
    if ('sort' in field.dataset) return Number(field.dataset.sort);
    const text = field.textContent.trim().replaceAll(',', '');
    const time = /^(\d+)m([\d.]+)s$/.exec(text);
    const number = time ? Number(time[1]) * 60 + Number(time[2]) : parseFloat(text);
    return Number.isNaN(number) ? Infinity : number;
  };

  // Rows are sorted within their group.
  const sort = (table) => {
    const heads = Array.from(table.tHead.rows[0].cells);
    const at = heads.findIndex((head) => head.hasAttribute('aria-sort'));
    if (at < 0) return;
    const sign = heads[at].getAttribute('aria-sort') === 'ascending' ? 1 : -1;
    const text = (row) => row.cells[at].textContent.trim();
    for (const body of table.tBodies) {
      const rows = Array.from(body.rows).sort((one, other) => {
        const [a, b] = [figure(one.cells[at]), figure(other.cells[at])];
        if (at === 0 || (a === Infinity && b === Infinity)) return sign * text(one).localeCompare(text(other));
        if (a === Infinity || b === Infinity) return a === b ? 0 : a === Infinity ? 1 : -1;
        return sign * (a - b);
      });
      body.append(...rows);
    }
  };

  for (const table of all('table.sortable')) {
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const way = head.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending';
        for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', way);
        sort(table);
        say('Sorted by ' + head.textContent.trim() + ', ' + way + '.');
      });
    }
  }

  // What is shown. The attribute `hidden` belongs to the reference.
  const show = (box) => {
    if (box.dataset.hides === 'r-0') document.body.classList.toggle('no-ratios', !box.checked);
    for (const element of all('.' + box.dataset.hides)) element.classList.toggle('off', !box.checked);
  };
  for (const box of all('[data-hides]')) {
    show(box);
    box.addEventListener('change', () => {
      show(box);
      const group = box.closest('fieldset').querySelector('legend').textContent;
      say(group + ': ' + box.parentElement.textContent.trim() + (box.checked ? ' is shown.' : ' is hidden.'));
    });
  }
  for (const button of all('[data-reference]')) {
    button.addEventListener('click', () => choose(Number(button.dataset.reference)));
  }
  document.getElementById('choices').hidden = false;

  // A contender's name opens its details.
  const open = () => {
    const target = /^#contender-\d+$/.test(location.hash) && document.querySelector(location.hash);
    if (!target) return;
    target.open = true;
    target.querySelector('summary').focus();
  };
  window.addEventListener('hashchange', open);
  for (const link of all('a[href^="#contender-"]')) {
    link.addEventListener('click', () => { if (link.hash === location.hash) open(); });
  }
  open();

  // The files are packed; the browser unpacks them before it saves them, if it can.
  const unpack = async (link) => {
    const packed = Uint8Array.from(atob(link.href.slice(link.href.indexOf(',') + 1)), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const file = await new Response(stream).blob();
    const saved = document.createElement('a');
    saved.href = URL.createObjectURL(new Blob([file], { type: link.dataset.type }));
    saved.download = link.dataset.name;
    saved.click();
    setTimeout(() => URL.revokeObjectURL(saved.href), 60000);
    say(link.dataset.name + ' is handed to the browser.');
  };
  if ('DecompressionStream' in window) {
    for (const link of all('a[data-name]')) {
      link.textContent = link.dataset.name;
      link.addEventListener('click', (event) => {
        event.preventDefault();
        unpack(link).catch(() => say(link.dataset.name + ' could not be unpacked.'));
      });
    }
  }

  // On paper nothing can be opened.
  let closed = [];
  window.addEventListener('beforeprint', () => {
    closed = all('details:not([open])');
    for (const one of closed) one.open = true;
  });
  window.addEventListener('afterprint', () => {
    for (const one of closed) one.open = false;
  });
})();
