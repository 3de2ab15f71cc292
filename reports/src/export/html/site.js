(() => {
  'use strict';
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const data = JSON.parse(document.getElementById('page-data').textContent);
  const of = (selector, facts) => all(selector).map((element, at) => ({ ...data.runs[facts[at].run], ...facts[at], element }));
  const section = (name) => 'section[aria-labelledby=' + name + '] ';
  const rows = of(section('results') + 'tbody tr:not(.place)', data.rows);
  const charts = of(section('releases') + 'figure', data.charts);
  const others = of(section('others') + '.run', data.others);
  const chosen = { driver: [], scenario: [], arrangement: [], server: [], date: [] };

  const fits = (one, names) => names.every((name) =>
    !chosen[name].length || [one[name]].flat().some((value) => chosen[name].includes(value)));

  // What is left empty is hidden, too.
  const show = () => {
    const names = Object.keys(chosen);
    for (const one of [...rows, ...others]) one.element.hidden = !fits(one, names);
    // A history is of many dates.
    for (const one of charts) one.element.hidden = !fits(one, ['driver', 'scenario', 'arrangement']);
    const isShown = (element) => !element.hidden;
    for (const body of all(section('results') + 'tbody')) body.hidden = !all('tr:not(.place)', body).some(isShown);
    for (const group of all('.history')) group.hidden = !all('figure', group).some(isShown);
    const left = rows.filter((one) => !one.element.hidden).length;
    document.querySelector('.status').textContent = !rows.length ? '' : left ? left + ' of ' + rows.length + ' rows.' : 'No row matches; remove a filter.';
  };

  const drivers = document.querySelector('#choices .group');
  for (const driver of data.drivers) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = driver;
    button.setAttribute('aria-pressed', 'false');
    button.addEventListener('click', () => {
      const isPressed = chosen.driver.includes(driver);
      chosen.driver = isPressed ? chosen.driver.filter((one) => one !== driver) : [...chosen.driver, driver];
      button.setAttribute('aria-pressed', String(!isPressed));
      show();
    });
    drivers.append(button);
  }

  const choose = (name, values, first) => {
    const label = document.createElement('label');
    const select = document.createElement('select');
    select.name = name;
    select.append(new Option('every ' + name, ''), ...values.map((value) => new Option(value, value)));
    select.value = first;
    const take = () => { chosen[name] = select.value ? [select.value] : []; };
    select.addEventListener('change', () => { take(); show(); });
    take();
    label.append(name, select);
    drivers.after(label);
  };
  const values = (name, of = [...rows, ...charts]) => [...new Set(of.flatMap((one) => one[name]))].sort();
  const dates = values('date', [...rows, ...others]).reverse();
  // The newest date that has rows.
  choose('date', dates, dates.find((date) => rows.some((one) => one.date.includes(date))) ?? '');
  for (const name of ['server', 'arrangement', 'scenario']) choose(name, values(name), '');
  document.getElementById('choices').hidden = false;
  show();
})();
