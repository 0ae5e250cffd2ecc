#include "report/style.h"

namespace gp::report {

// Zooms the timelines. Without it the page lacks nothing else.
const char kScript[] = R"js(
document.querySelectorAll('figure.zoomable').forEach(function (figure) {
  var lanes = figure.querySelector('svg.lanes'), ticks = figure.querySelector('g.ticks');
  var whole = lanes.viewBox.baseVal.width, length = Number(lanes.dataset.lengthUs);
  var left = lanes.x.baseVal.value, width = lanes.width.baseVal.value;
  var top = lanes.y.baseVal.value, bottom = top + lanes.height.baseVal.value;
  var start = 0, span = whole, note = document.createElement('small');
  function text(us) {
    var number = function (value) { return String(Number(value.toPrecision(7))); };
    return us === 0 ? '0' : us >= 1e6 ? number(us / 1e6) + ' s'
      : us >= 1e3 ? number(us / 1e3) + ' ms' : number(us) + ' \u00b5s';
  }
  function shape(name, attributes) {
    var made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (var key in attributes) { made.setAttribute(key, attributes[key]); }
    ticks.appendChild(made);
    return made;
  }
  function draw() {
    span = Math.min(Math.max(span, whole * 20 / length), whole);
    start = Math.min(Math.max(start, 0), whole - span);
    lanes.setAttribute('viewBox', start + ' 0 ' + span + ' ' + (bottom - top));
    ticks.textContent = '';
    var from = start / whole * length, shown = span / whole * length, step = shown / 8;
    var power = Math.pow(10, Math.floor(Math.log10(step))), digit = step / power;
    step = power * (digit > 5 ? 10 : digit > 2 ? 5 : digit > 1 ? 2 : 1);
    for (var i = Math.ceil(from / step - 1e-6); i * step <= from + shown; i++) {
      var x = left + (i * step - from) / shown * width;
      shape('line', {'class': 'grid', x1: x, x2: x, y1: top, y2: bottom});
      shape('text', {'class': 'tick middle', x: x, y: bottom + 22}).textContent = text(i * step);
    }
    note.textContent = span < whole ? text(shown) + ' shown'
      : matchMedia('(pointer: fine)').matches ? 'drag over a part to enlarge it' : '';
  }
  function zoom(factor, at) {
    start += span * at * (1 - factor);
    span *= factor;
    draw();
  }
  function place(event) {
    var box = lanes.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  }
  var bar = document.createElement('div');
  bar.className = 'zoom';
  [['+', 'Zoom in', function () { zoom(1 / 3, 0.5); }],
   ['\u2212', 'Zoom out', function () { zoom(3, 0.5); }],
   ['\u2190', 'Earlier', function () { start -= span / 2; draw(); }],
   ['\u2192', 'Later', function () { start += span / 2; draw(); }],
   ['All', 'The whole phase', function () { start = 0; span = whole; draw(); }]
  ].forEach(function (each) {
    var button = document.createElement('button');
    button.type = 'button';
    button.textContent = each[0];
    button.title = each[1];
    button.setAttribute('aria-label', each[1]);
    button.addEventListener('click', each[2]);
    bar.appendChild(button);
  });
  bar.appendChild(note);
  figure.insertBefore(bar, lanes.parentNode);
  var from = null, svg = lanes.parentNode;
  svg.addEventListener('pointerdown', function (event) {
    if (event.pointerType === 'mouse') { from = place(event); event.preventDefault(); }
  });
  window.addEventListener('pointerup', function (event) {
    if (from === null) { return; }
    var to = place(event), low = Math.min(from, to), part = Math.abs(to - from);
    from = null;
    if (part > 0.005) { start += span * low; span *= part; draw(); }
  });
  svg.addEventListener('dblclick', function () { start = 0; span = whole; draw(); });
  svg.addEventListener('wheel', function (event) {
    if (!event.ctrlKey) { return; }
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, place(event));
  }, {passive: false});
  draw();
});
)js";

}  // namespace gp::report
