# SPDX-License-Identifier: Apache-2.0
"""Small charts as SVG: bars in groups, and lanes over time. They have a white ground, so that they are legible on any page."""
from html import escape

COLOURS = ["#3b6ea8", "#d98c3f", "#5b9a5b", "#a85b7a", "#7a6fb0", "#8a8a8a"]


def picture(width, height, parts, title):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" '
            f'font-size="13" role="img"><title>{escape(title)}</title><rect width="{width}" height="{height}" fill="white"/>')
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def words(x, y, text, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(str(text))}</text>'


def nice_step(most):
    """A step of 1, 2 or 5 times a power of ten, of which about five make `most`."""
    step = 1.0
    while step * 6 < most:
        step *= 10
    while step * 6 > most * 10:
        step /= 10
    return next(step * k for k in (0.1, 0.2, 0.5, 1, 2, 5) if step * k * 6 >= most)


def bars(title, unit, names, series, line=None):
    """Horizontal bars: a group for each name; series: label -> (value or None) for each name. `line`: (value, label) of a line across."""
    thick, gap, left, right, top = 15, 12, 222, 60, 62
    width, inner = 780, 780 - left - right
    most = max([v for values in series.values() for v in values if v is not None] + ([line[0]] if line else [])) * 1.02
    group = thick * len(series) + gap
    height = top + group * len(names) + 34
    parts = [words(14, 22, title, more='font-size="16" font-weight="bold"')]
    x = 14
    for k, label in enumerate(series):
        parts += [f'<rect x="{x}" y="34" width="12" height="12" fill="{COLOURS[k]}"/>', words(x + 17, 45, label)]
        x += 36 + 7.3 * len(label)
    step, tick = nice_step(most), 0.0
    while tick <= most:
        at = left + inner * tick / most
        parts += [f'<line x1="{at:.1f}" y1="{top - 6}" x2="{at:.1f}" y2="{height - 30}" stroke="#dddddd"/>',
                  words(at, height - 14, f"{tick:g}", "middle", 'fill="#555555"')]
        tick += step
    parts.append(words(width - 12, height - 14, unit, "end", 'fill="#555555"'))
    for i, name in enumerate(names):
        y = top + i * group
        parts.append(words(left - 8, y + thick * len(series) / 2 + 4, name, "end"))
        for k, values in enumerate(series.values()):
            if values[i] is None:
                continue
            long = inner * values[i] / most
            parts += [f'<rect x="{left}" y="{y + k * thick}" width="{long:.1f}" height="{thick - 2}" fill="{COLOURS[k]}"/>',
                      words(left + long + 5, y + k * thick + 11, f"{values[i]:g}", more='font-size="11" fill="#333333"')]
    if line:
        at = left + inner * line[0] / most
        parts += [f'<line x1="{at:.1f}" y1="{top - 6}" x2="{at:.1f}" y2="{height - 30}" stroke="#c0392b" stroke-dasharray="4 3"/>',
                  words(at + 4, top - 8, line[1], more='font-size="11" fill="#c0392b"')]
    return picture(width, height, parts, title)


def lanes(title, rows, kinds, end):
    """Stretches of time on lanes; rows: (name, [(start, end, kind)]), all in one unit up to `end`; kinds: kind -> words for the legend."""
    thick, left, top, width = 22, 120, 62, 780
    inner = width - left - 16
    height = top + (thick + 4) * len(rows) + 34
    parts = [words(14, 22, title, more='font-size="16" font-weight="bold"')]
    x = 14
    for k, kind in enumerate(kinds):
        parts += [f'<rect x="{x}" y="34" width="12" height="12" fill="{COLOURS[k % len(COLOURS)]}"/>', words(x + 17, 45, kind)]
        x += 36 + 7.3 * len(kind)
    colour = {kind: COLOURS[k % len(COLOURS)] for k, kind in enumerate(kinds)}
    for i, (name, stretches) in enumerate(rows):
        y = top + i * (thick + 4)
        parts += [words(left - 8, y + 15, name, "end"), f'<rect x="{left}" y="{y}" width="{inner}" height="{thick}" fill="#f3f3f3"/>']
        for start, stop, kind in stretches:
            long = max(inner * (stop - start) / end, 0.3)
            parts.append(f'<rect x="{left + inner * start / end:.2f}" y="{y}" width="{long:.2f}" height="{thick}" fill="{colour[kind]}"/>')
    for k in range(6):
        parts.append(words(left + inner * k / 5, height - 14, f"{end * k / 5e3:.3g} ms", "middle" if k < 5 else "end", 'fill="#555555"'))
    return picture(width, height, parts, title)
