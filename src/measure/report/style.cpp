#include "report/page.h"

namespace gp::report {

// The only place with colours. Dark values replace light ones where the reader's system is dark;
// paper is always light.
const char kStyle[] = R"css(
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1c2430; --soft: #5b6675; --faint: #e3e7ed; --panel: #f5f7fa;
  --online: #1f6feb; --offline: #e39a14; --alone: #7c8796; --without: #d6336c; --with: #1f6feb;
  --other: #8a63d2; --good: #187a3c; --bad: #c4262e; --notice: #fff4d6; --notice-edge: #d9a400;
  --level1: #e39a14; --level2: #8a63d2; --level3: #1f6feb; --stopped: #fbe9c6;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #10151c; --text: #e4e9f0; --soft: #98a4b5; --faint: #27303c; --panel: #18202a;
    --online: #5b9bff; --offline: #f0b040; --alone: #98a4b5; --without: #ff6b9a; --with: #5b9bff;
    --other: #b295f0; --good: #56c97d; --bad: #ff7b7b; --notice: #2d2611; --notice-edge: #b98b00;
    --level1: #f0b040; --level2: #b295f0; --level3: #5b9bff; --stopped: #4d3d1c;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2.2rem 1.25rem 4rem; max-width: 60rem; background: var(--page);
  color: var(--text); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  "DejaVu Sans", sans-serif; -webkit-text-size-adjust: 100%;
}
header p { margin: 0; }
.brand { color: var(--soft); font-size: .9rem; display: flex; gap: .4rem 1rem; flex-wrap: wrap; }
.brand b { color: var(--text); letter-spacing: .01em; }
h1 { font-size: clamp(1.5rem, 4.2vw, 2.15rem); line-height: 1.2; margin: .7rem 0 .5rem;
  letter-spacing: -.015em; text-wrap: balance; }
h1 em { font-style: normal; color: var(--with); white-space: nowrap; }
h2 { font-size: 1.25rem; margin: 3rem 0 .4rem; letter-spacing: -.01em; }
h3 { font-size: 1rem; margin: 1.8rem 0 .2rem; }
p { margin: .5rem 0; max-width: 44rem; }
header p.lead { color: var(--soft); font-size: 1.08rem; margin: 0; }
.soft, small { color: var(--soft); }
small { font-size: .85rem; }
th small, td small { display: block; font-weight: 400; }
code, pre { font: .88rem/1.5 ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, monospace; }
pre { background: var(--panel); padding: .7rem .9rem; border-radius: .4rem; margin: .5rem 0;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.notice { background: var(--notice); border-left: 4px solid var(--notice-edge);
  padding: .6rem .9rem; border-radius: 0 .4rem .4rem 0; margin: 1.2rem 0 0; max-width: none; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(12.5rem, 1fr)); gap: .8rem;
  margin: 1.5rem 0 0; padding: 0; }
.tiles div { background: var(--panel); border-radius: .6rem; padding: .9rem 1rem; }
.tiles dt { color: var(--soft); font-size: .86rem; }
.tiles dd { margin: .1rem 0 0; font-size: 1.65rem; font-weight: 650; line-height: 1.25;
  font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
.tiles dd small { display: block; font-size: .84rem; font-weight: 400; letter-spacing: 0;
  margin-top: .15rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .muted { color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .9rem 0 0; font-size: .93rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .5rem .55rem; text-align: left; vertical-align: baseline;
  border-bottom: 1px solid var(--faint); }
th:first-child { padding-left: 0; } td:last-child, thead th:last-child { padding-right: 0; }
thead th { color: var(--soft); font-weight: 500; font-size: .83rem; vertical-align: bottom; }
tbody th { font-weight: 550; }
tbody tr:last-child > * { border-bottom: 0; }
.numbers td, .numbers thead th:not(:first-child) { text-align: right; }
.numbers tr.remark td { text-align: left; color: var(--soft); }
tr.group th { border-bottom: 0; color: var(--soft); font-weight: 500; font-size: .83rem;
  padding-top: 1.1rem; text-transform: capitalize; }
tr.strong > * { font-weight: 650; }
tr.strong th { box-shadow: inset 3px 0 var(--with); padding-left: .6rem !important; }
.wordy td, .wordy th { vertical-align: top; }
td { white-space: nowrap; } td.words, .remark td { white-space: normal; }
tbody th.words { font-weight: 400; width: 55%; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: 1.4rem 2.2rem; margin-top: .8rem; align-items: start; }
figure { margin: 0; } .charts figure { min-width: 0; }
figcaption { font-size: .88rem; color: var(--soft); margin-bottom: .3rem; }
.prose p { font-size: .93rem; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg.lanes { overflow: hidden; }
svg text { font-family: inherit; font-size: 12px; fill: var(--soft);
  font-variant-numeric: tabular-nums; }
svg text.label { font-size: 13px; fill: var(--text); }
svg text.value { font-size: 14px; font-weight: 600; fill: var(--text); }
.start { text-anchor: start; } .middle { text-anchor: middle; } .end { text-anchor: end; }
.grid { stroke: var(--faint); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
.whisker { stroke: var(--text); stroke-width: 1.5; }
.curve { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
.curve.alone { stroke: var(--alone); stroke-dasharray: 5 4; }
.curve.without { stroke: var(--without); } .curve.with { stroke: var(--with); }
.curve.other { stroke: var(--other); }
.dot { stroke: var(--page); stroke-width: 1.5; }
.alone { --shape: var(--alone); } .without { --shape: var(--without); }
.with { --shape: var(--with); } .other { --shape: var(--other); }
.online { --shape: var(--online); } .offline { --shape: var(--offline); }
.level1 { --shape: var(--level1); } .level2 { --shape: var(--level2); }
.level3 { --shape: var(--level3); }
.dot, .fill { fill: var(--shape, var(--other)); }
.legend small { white-space: nowrap; }
.legend { list-style: none; padding: 0; margin: .6rem 0 0; display: flex; flex-wrap: wrap;
  gap: .25rem 1.5rem; font-size: .92rem; }
.key + .key { margin-left: -.2rem; }
.key { display: inline-block; width: .75rem; height: .75rem; border-radius: .2rem;
  margin-right: .45rem; background: var(--shape); }
.key.stopped { background: var(--stopped); }
.key.stop { background: var(--bad); } .key.start { background: var(--good); }
.key.request { background: var(--text); opacity: .55; }
.lane { fill: var(--panel); }
.mark { fill: var(--shape, var(--other)); stroke: var(--shape, var(--other)); stroke-width: 1;
  vector-effect: non-scaling-stroke; }
.mark.request { --shape: var(--text); opacity: .55; }
.mark.offline { stroke: none; }
.mark.stopped { --shape: var(--stopped); }
.mark.stop { --shape: var(--bad); } .mark.start { --shape: var(--good); }
.mark.gap { --shape: var(--page); stroke-width: 4; }
.mark.failed { --shape: var(--without); stroke-width: 2; }
.zoom { display: flex; gap: .4rem; margin: .4rem 0 .2rem; align-items: center; }
.zoom button { font: inherit; font-size: .85rem; min-width: 2.2rem; padding: .15rem .6rem;
  color: var(--text); background: var(--panel); border: 1px solid var(--faint);
  border-radius: .35rem; cursor: pointer; }
.zoom small { margin-left: .4rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; margin: .8rem 0;
  font-size: .95rem; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; }
footer { margin-top: 3rem; padding-top: .8rem; border-top: 1px solid var(--faint);
  color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) {
  body { padding: 1.2rem 1rem 3rem; }
  h2 { margin-top: 2.3rem; }
  .tiles { grid-template-columns: 1fr 1fr; gap: .6rem; }
  .tiles div { padding: .7rem .8rem; } .tiles dd { font-size: 1.3rem; }
  table, tbody, tr, tbody th, td { display: block; width: 100%; }
  thead { display: none; }
  tbody tr { padding: .7rem 0; border-bottom: 1px solid var(--faint); }
  tbody th, td { padding: .12rem 0 !important; border: 0; }
  tbody th { font-size: 1rem; }
  td { display: flex; justify-content: space-between; gap: 1rem; text-align: right; }
  td[data-label]::before { content: attr(data-label); color: var(--soft); font-weight: 400;
    white-space: nowrap; }
  td.words { display: block; text-align: left; } td.words::before { display: block; }
  td.empty { display: none; }
  tbody th.words { font-weight: 550; width: auto; }
  tr.strong th { padding-left: .6rem !important; }
  svg text, svg text.label, svg text.value { font-size: 14px; }
  svg.timeline text, svg.timeline text.label { font-size: 23px; }
  .facts { grid-template-columns: 1fr; gap: 0; } .facts dd { margin-bottom: .5rem; }
}
@page { margin: 14mm; }
@media print {
  :root { color-scheme: light; font-size: 12.5px; }
  body { padding: 0; max-width: none; }
  h2 { margin-top: 1.6rem; break-after: avoid; }
  h3, figcaption { break-after: avoid; }
  tr.group { break-after: avoid; }
  figure, tr, .tiles, .facts, .notice { break-inside: avoid; }
  .zoom { display: none; } .wide { overflow: visible; }
  .tiles { grid-template-columns: repeat(4, 1fr); }
  .legend { break-inside: avoid; break-after: avoid; }
  .tiles div, .notice, .key, .lane, pre { print-color-adjust: exact;
    -webkit-print-color-adjust: exact; }
}
)css";

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
