"""Loss curves over seeds as SVG: f32's range as a band, each mode's mean as a line."""

import math

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 36, 44
POINTS = 160
# Okabe and Ito's palette, told apart with any colour vision; dashes keep curves
# that coincide visible.
STYLES = {"f32": ("#0072B2", "none"), "bf16": ("#D55E00", "9 5"),
          "f16-static": ("#009E73", "3 4"), "f16": ("#CC79A7", "12 4 3 4")}


def smooth(losses):
    """(step, mean loss) of POINTS equal stretches of the run."""
    count = min(POINTS, len(losses))
    points = []
    for i in range(count):
        part = losses[i * len(losses) // count:(i + 1) * len(losses) // count]
        points.append((i * len(losses) / count + len(part) / 2, sum(part) / len(part)))
    return points


def ticks(low, high):
    """Values 1, 2 and 5 times powers of ten, every second decade if there are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    digits = (1, 2, 5) if last - first <= 3 else (1,)
    values = [digit * 10.0 ** power for power in range(first, last + 1) for digit in digits]
    return [value for value in values if low <= value <= high]


def draw(title, runs):
    """`runs` maps each mode to the losses of its seeds, positive numbers."""
    curves = {mode: [smooth(losses) for losses in seeds] for mode, seeds in runs.items()}
    values = [y for seeds in curves.values() for points in seeds for _, y in points]
    low, high = min(values) / 1.1, max(values) * 1.1
    steps = max(len(losses) for seeds in runs.values() for losses in seeds)

    def place(step, loss):
        x = LEFT + (WIDTH - LEFT - RIGHT) * step / steps
        y = TOP + (HEIGHT - TOP - BOTTOM) * math.log(high / loss) / math.log(high / low)
        return f"{x:.1f} {y:.1f}"

    def over(seeds, function):
        return [(points[0][0], function([y for _, y in points])) for points in zip(*seeds)]

    def path(points):
        return "M" + " L".join(place(*point) for point in points)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="#fff"/>',
             f'<text x="{WIDTH / 2}" y="22" font-size="15" text-anchor="middle">{title}: training loss</text>']
    for value in ticks(low, high):
        x, y = place(0, value).split()
        parts.append(f'<path d="M{x} {y}H{WIDTH - RIGHT}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for i in range(5):
        x = place(steps * i / 4, high).split()[0]
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
                     f'{steps * i // 4}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">step</text>')
    if "f32" in curves:
        band = path(over(curves["f32"], max)) + " L" + " L".join(
            place(*point) for point in reversed(over(curves["f32"], min)))
        parts.append(f'<path d="{band}Z" fill="{STYLES["f32"][0]}" fill-opacity="0.2"/>')
    for i, (mode, seeds) in enumerate(curves.items()):
        color, dash = STYLES[mode]
        stroke = f'stroke="{color}" stroke-width="1.6" stroke-dasharray="{dash}"'
        mean = over(seeds, lambda y: sum(y) / len(y))
        parts.append(f'<path d="{path(mean)}" fill="none" {stroke}/>')
        x, y = WIDTH - RIGHT - 240, TOP + 16 + 18 * i
        label = mode + (f": mean of {len(seeds)} seeds" + (" and range" if mode == "f32" else ""))
        parts.append(f'<path d="M{x} {y}h34" fill="none" {stroke}/>'
                     f'<text x="{x + 40}" y="{y + 4}">{label}</text>')
    return "\n".join(parts + ["</svg>", ""])
