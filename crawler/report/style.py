"""The look of a report: light and dark by the reader's preference, one column on a phone, up to three on a large screen."""

from __future__ import annotations

from typing import Final

CSS: Final = """
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5b6675;--rule:#dfe3e9;--track:#e9ecf1;
--s1:#2563c9;--s2:#d06a12;--s3:#16875f;--s4:#8250c4;--s5:#8a94a3;--s6:#b9414f;--fill:#2563c91f}
@media (prefers-color-scheme:dark){:root{--bg:#12161c;--card:#1a2029;--ink:#e4e8ee;--soft:#9aa6b5;--rule:#2d3643;--track:#28303c;
--s1:#6aa5ff;--s2:#f29a4a;--s3:#4cc79a;--s4:#b995f0;--s5:#76818f;--s6:#ef7d88;--fill:#6aa5ff26}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
header,main,footer{max-width:1180px;margin:0 auto;padding:0 20px}
header{padding-top:28px}
h1{font-size:1.65rem;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:0 0 12px;line-height:1.3}
h3{font-size:.95rem;margin:0;line-height:1.35}
h4{font-size:.95rem;margin:18px 0 6px}
p{margin:0 0 12px}
a{color:var(--s1)}
.sub{color:var(--soft);margin:0 0 14px}
nav{display:flex;flex-wrap:wrap;gap:6px;margin:0 0 20px}
nav a{padding:4px 11px;border:1px solid var(--rule);border-radius:99px;background:var(--card);color:var(--ink);
text-decoration:none;font-size:.86rem}
nav a:hover,nav a:focus{border-color:var(--s1);color:var(--s1)}
section{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:20px;margin:0 0 18px;scroll-margin-top:12px}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:10px;margin:0 0 18px}
section>:last-child{margin-bottom:0}
.tile{background:var(--bg);border-radius:8px;padding:10px 14px;min-width:0}
.tile dt{color:var(--soft);font-size:.82rem}
.tile dd{margin:0;font-size:1.4rem;font-weight:600;line-height:1.3;font-variant-numeric:tabular-nums}
.tile small{display:block;font-size:.78rem;font-weight:400;color:var(--soft);line-height:1.35}
.legend+.facts{margin-top:14px}
.facts{display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:3px 18px;margin:0 0 14px}
.facts dt{color:var(--soft)}
.facts dd{margin:0;overflow-wrap:anywhere}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:22px 26px;margin:0 0 16px}
.two{grid-template-columns:repeat(auto-fit,minmax(min(100%,max(320px,40%)),1fr))}
figure{margin:0;min-width:0;max-width:440px}
.two figure{max-width:560px}
figcaption{margin:0 0 6px}
h3+.stack{margin-top:6px}
.legend{display:flex;flex-wrap:wrap;gap:2px 14px;margin:2px 0 0;font-size:.8rem;color:var(--soft)}
.key{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
.note{color:var(--soft);font-size:.84rem;margin:4px 0 12px}
.plot{display:block;width:100%;height:auto;overflow:visible}
.plot text{font-size:11.5px;fill:var(--soft);font-variant-numeric:tabular-nums}
.rung{stroke:var(--rule);stroke-width:1}
.line{fill:none;stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round;stroke-linecap:round}
.l1{stroke:var(--s1)}.l2{stroke:var(--s2);stroke-dasharray:5 4}.l3{stroke:var(--s3);stroke-dasharray:1 4}
.l4{stroke:var(--s4);stroke-dasharray:2 4}
.area{stroke:none;fill:var(--fill)}
.c1,.k1{fill:var(--s1);background:var(--s1)}.c2,.k2{fill:var(--s2);background:var(--s2)}.c3,.k3{fill:var(--s3);background:var(--s3)}
.c4,.k4{fill:var(--s4);background:var(--s4)}.c5,.k5{fill:var(--s5);background:var(--s5)}.c6,.k6{fill:var(--s6);background:var(--s6)}
.paired .c2,.paired .k2{fill:var(--track);background:var(--track);stroke:var(--s5);stroke-width:.6}
.paired .k2{outline:1px solid var(--s5);outline-offset:-1px}
.stack{display:block;width:100%;height:18px;border-radius:5px;background:var(--track)}
.track{fill:var(--track)}
.bar{display:block;flex:1 1 60px;min-width:60px;height:7px}
.barred>div{display:flex;align-items:center;gap:9px;min-height:1.5em}
td:not(.long) bdi{white-space:nowrap}
.barred{min-width:110px;font-variant-numeric:tabular-nums}
.barred span{font-size:.9em;color:var(--soft);min-width:3.1em;text-align:right}
.scroll{overflow-x:auto;margin:0 -20px 14px;padding:0 20px}
.scroll:focus-visible{outline:2px solid var(--s1);outline-offset:-2px}
table{border-collapse:collapse;width:100%;font-size:.87rem}
caption{text-align:left;font-weight:600;padding:6px 0;font-size:.95rem}
.grid caption{padding-top:0}
th,td{padding:5px 14px 5px 0;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
th{color:var(--soft);font-weight:500;white-space:nowrap}
tr:last-child td{border-bottom:0}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
bdi{overflow-wrap:anywhere;display:inline-block;overflow:hidden;vertical-align:top;max-width:100%}
.long{min-width:17rem}.longer{min-width:22rem}
details{border-top:1px solid var(--rule);padding:8px 0}
summary{cursor:pointer;font-weight:500}
details>*:nth-child(2){margin-top:8px}
.good{color:var(--s3)}.bad{color:var(--s6)}
footer{color:var(--soft);font-size:.82rem;padding-bottom:28px}
@media (min-width:1000px){.two .plot text{font-size:9px}}
@media (max-width:700px){.tiles{grid-template-columns:repeat(2,1fr)}}
@media (max-width:560px){header,main,footer{padding-left:12px;padding-right:12px}section{padding:16px 14px}
.scroll{margin:0 -14px 14px;padding:0 14px}.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:8px}h1{font-size:1.35rem}
.tile dd{font-size:1.2rem}}
@media print{body{background:#fff}section{break-inside:avoid;border-color:#ccc}nav{display:none}}
"""
