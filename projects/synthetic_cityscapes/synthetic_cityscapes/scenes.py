"""Street scenes drawn at random: images with Cityscapes' label ids.

A road runs to a vanishing point; houses, walls, trees, people and vehicles
stand on both sides and on it, smaller towards the horizon. Everything is
drawn from far to near, into image and label map alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np

HEIGHT, WIDTH = 1024, 2048
# Cityscapes' ids by name; those below 7, and parking, are not evaluated.
IDS = {
    'ego vehicle': 1,
    'out of roi': 3,
    'static': 4,
    'road': 7,
    'sidewalk': 8,
    'parking': 9,
    'building': 11,
    'wall': 12,
    'fence': 13,
    'pole': 17,
    'traffic light': 19,
    'traffic sign': 20,
    'vegetation': 21,
    'terrain': 22,
    'sky': 23,
    'person': 24,
    'rider': 25,
    'car': 26,
    'truck': 27,
    'bus': 28,
    'train': 31,
    'motorcycle': 32,
    'bicycle': 33,
}
# Height in metres and width over height of what stands on the ground.
VEHICLES = {
    'car': (1.5, 1.5),
    'truck': (3.2, 1.05),
    'bus': (3.1, 1.9),
    'train': (3.6, 2.6),
}
LAMPS = ((60, 200, 90), (50, 200, 240), (50, 50, 235))
VEHICLE_COLOURS = {
    'car': [(150, 60, 50), (60, 60, 150), (175, 175, 180), (45, 45, 50)],
    'truck': [(60, 120, 200), (190, 190, 150)],
    'bus': [(40, 60, 200), (60, 190, 230)],
    'train': [(60, 150, 60), (200, 190, 90)],
}


@dataclass
class Scene:
    """A scene that is being drawn.

    Attributes:
        rng: Where chance comes from.
        image: BGR (H, W, 3) uint8.
        labels: Cityscapes' ids (H, W) uint8.
        horizon: Row of the horizon.
        vanishing: Column where the road ends.
    """

    rng: np.random.Generator
    image: np.ndarray = field(init=False)
    labels: np.ndarray = field(init=False)
    horizon: int = field(init=False)
    vanishing: int = field(init=False)

    def __post_init__(self) -> None:
        """Begin with static things everywhere."""
        self.image = np.full((HEIGHT, WIDTH, 3), 120, np.uint8)
        self.labels = np.full((HEIGHT, WIDTH), IDS['static'], np.uint8)
        self.horizon = int(self.rng.uniform(0.36, 0.44) * HEIGHT)
        self.vanishing = int(self.rng.uniform(0.42, 0.58) * WIDTH)

    def shade(self, colour: tuple, spread: float = 18) -> tuple[float, ...]:
        """A colour near the given one."""
        drawn = np.array(colour) + self.rng.normal(0, spread, 3)
        return tuple(drawn.clip(0, 255).tolist())

    def polygon(self, points: Sequence, name: str, colour: tuple) -> None:
        """Fill a polygon of (column, row) in image and labels."""
        corners = np.array(points).round().astype(np.int32)
        cv2.fillPoly(self.image, [corners], self.shade(colour, 8), cv2.LINE_AA)
        cv2.fillPoly(self.labels, [corners], IDS[name])

    def box(self, x: float, y: float, w: float, h: float, *what: Any) -> None:
        """Fill a box that stands at column x, row y."""
        left, right = x - w / 2, x + w / 2
        corners = [(left, y), (right, y), (right, y - h), (left, y - h)]
        self.polygon(corners, *what)

    def disc(self, x: float, y: float, size: tuple, *what: Any) -> None:
        """Fill an ellipse with half axes ``size`` around a centre."""
        angles = np.linspace(0, 2 * np.pi, 28, endpoint=False)
        ring = np.stack([np.cos(angles), np.sin(angles)], 1) * size
        self.polygon(ring + np.array([x, y]), *what)

    def ground(self, lateral: float, depth: float) -> tuple[float, float]:
        """Column and row of a point on the ground.

        Args:
            lateral: Metres to the right of the road's middle.
            depth: Metres ahead.
        """
        pixels = self.scale(depth)
        return (
            self.vanishing + lateral * pixels,
            self.horizon + 1.6 * pixels,  # the camera is 1.6 m above ground
        )

    def scale(self, depth: float) -> float:
        """Pixels per metre at a depth."""
        return 1150 / depth

    def strip(self, inner: float, outer: float, *what: Any) -> None:
        """Fill the ground between two lines along the road."""
        near, far = 2.0, 400.0
        corners = [self.ground(inner, near), self.ground(outer, near)]
        corners += [self.ground(outer, far), self.ground(inner, far)]
        self.polygon(corners, *what)


def draw_surroundings(scene: Scene, road: float, walk: float) -> None:
    """Sky, ground and what lines the road, of half width ``road``."""
    rows = np.linspace(0, 1, HEIGHT)[:, None, None]
    sky = np.array(scene.shade((220, 190, 150))) * (1 - 0.2 * rows)
    scene.image[: scene.horizon + 12] = sky[: scene.horizon + 12]
    scene.labels[: scene.horizon + 12] = IDS['sky']
    for side in (-1, 1):
        edge = side * (road + walk)
        scene.strip(edge, side * 300, 'terrain', (70, 150, 120))
        draw_frontage(scene, side, edge)
        scene.strip(side * road, edge, 'sidewalk', (165, 150, 165))
        if scene.rng.random() < 0.4:
            parking = side * (road + 1.8)
            scene.strip(side * road, parking, 'parking', (130, 115, 130))
    scene.strip(-road, road, 'road', (95, 92, 90))
    for mark in np.arange(4, 60, 6):
        corners = [scene.ground(x, mark) for x in (-0.08, 0.08)]
        corners += [scene.ground(x, mark + 2.5) for x in (0.08, -0.08)]
        scene.polygon(corners, 'road', (215, 215, 215))


def draw_frontage(scene: Scene, side: int, edge: float) -> None:
    """Houses, trees, walls and fences along one side, far ones first."""
    rng = scene.rng
    depth = 120.0
    while depth > 5:
        length = float(rng.uniform(8, 20))
        near = max(depth - length, 4.0)
        kinds = ('building', 'vegetation', 'wall', 'fence')
        kind = rng.choice(kinds, p=(0.55, 0.2, 0.12, 0.13))
        lateral = edge + side * float(rng.uniform(0.5, 5))
        if kind == 'vegetation':
            draw_tree(scene, lateral, near)
        else:
            draw_front(scene, kind, lateral, near, depth)
        depth = near - float(rng.uniform(0, 3))


def draw_front(
    scene: Scene, kind: str, lateral: float, near: float, far: float
) -> None:
    """An upright face along the road, with windows or bars."""
    low = {'building': 6.0, 'wall': 1.8, 'fence': 1.2}[kind]
    height = float(scene.rng.uniform(low, 2.2 * low))
    colour = {
        'building': (90, 105, 130),
        'wall': (120, 130, 160),
        'fence': (110, 100, 80),
    }[kind]
    corners = []
    for depth, up in ((near, 0), (far, 0), (far, height), (near, height)):
        x, y = scene.ground(lateral, depth)
        corners.append((x, y - up * scene.scale(depth)))
    scene.polygon(corners, kind, scene.shade(colour, 25))
    parts = 5 if kind == 'building' else 14 if kind == 'fence' else 0
    for at in np.linspace(near, far, parts + 2)[1:-1]:
        x, y = scene.ground(lateral, at)
        pixels = scene.scale(at)
        if kind == 'fence':
            bar = (0.08 * pixels, height * pixels)
            scene.box(x, y, *bar, 'fence', (70, 65, 55))
            continue
        for floor in np.arange(1.2, height - 1.6, 3):
            window = (0.9 * pixels * 0.5, 1.4 * pixels)
            bottom = y - floor * pixels
            scene.box(x, bottom, *window, 'building', (70, 60, 50))


def draw_tree(scene: Scene, lateral: float, depth: float) -> None:
    """A crown of leaves; its trunk counts as vegetation, too."""
    x, y = scene.ground(lateral, depth)
    pixels = scene.scale(depth)
    scene.box(x, y, 0.4 * pixels, 3 * pixels, 'vegetation', (50, 70, 85))
    for _ in range(9):
        dx, dy = scene.rng.normal(0, 1.0, 2) * pixels
        radius = float(scene.rng.uniform(0.9, 1.8)) * pixels
        place = (x + dx, y - 4 * pixels + 0.7 * dy)
        leaves = scene.shade((45, 105, 60), 16)
        scene.disc(*place, (radius, radius), 'vegetation', leaves)


def draw_pole(scene: Scene, lateral: float, depth: float) -> None:
    """A pole that carries a light or a sign."""
    x, y = scene.ground(lateral, depth)
    m = scene.scale(depth)
    scene.box(x, y, 0.2 * m, 3.6 * m, 'pole', (125, 125, 125))
    if scene.rng.random() < 0.5:
        head = y - 2.7 * m
        scene.box(x, head, 0.5 * m, 1.2 * m, 'traffic light', (35, 40, 35))
        for i, lamp in enumerate(
            ((60, 200, 90), (50, 200, 240), (50, 50, 235))
        ):
            centre = head - (0.2 + 0.4 * i) * m
            size = (0.13 * m, 0.13 * m)
            scene.disc(x, centre, size, 'traffic light', lamp)
    else:
        plate = (0.45 * m, 0.45 * m)
        colour = ((40, 40, 215), (200, 90, 30))[int(scene.rng.integers(2))]
        scene.disc(x, y - 3.2 * m, plate, 'traffic sign', colour)
        inner = (0.28 * m, 0.28 * m)
        scene.disc(x, y - 3.2 * m, inner, 'traffic sign', (235, 235, 235))


def draw_figure(scene: Scene, name: str, x: float, y: float, m: float) -> None:
    """A person or rider of 1.75 metres at ``m`` pixels per metre."""
    coat = scene.shade((60, 60, 190) if name == 'rider' else (140, 80, 60), 30)
    for leg in (-0.13, 0.13):
        scene.box(x + leg * m, y, 0.2 * m, 0.85 * m, name, (60, 50, 50))
    scene.disc(x, y - 1.1 * m, (0.28 * m, 0.42 * m), name, coat)
    scene.disc(x, y - 1.6 * m, (0.14 * m, 0.17 * m), name, (140, 165, 215))


def draw_two_wheeler(
    scene: Scene, name: str, x: float, y: float, m: float
) -> None:
    """A bicycle or motorcycle, mostly with its rider."""
    heavy = name == 'motorcycle'
    frame = (40, 40, 45) if heavy else (60, 140, 170)
    for wheel in (-0.6, 0.6):
        size = (0.34 * m, 0.34 * m)
        scene.disc(x + wheel * m, y - 0.34 * m, size, name, (50, 50, 50))
    body = (1.3 * m, (0.45 if heavy else 0.2) * m)
    scene.box(x, y - 0.4 * m, *body, name, frame)
    if scene.rng.random() < 0.75:
        draw_figure(scene, 'rider', x, y - 0.5 * m, m)


def draw_vehicle(
    scene: Scene, name: str, x: float, y: float, m: float
) -> None:
    """A car, truck, bus or train: body, windows, wheels."""
    height, aspect = (size * m for size in VEHICLES[name])
    aspect /= m
    width = height * aspect
    choice = VEHICLE_COLOURS[name]
    paint = scene.shade(choice[int(scene.rng.integers(len(choice)))], 20)
    body = height * (0.62 if name == 'car' else 0.9)
    scene.box(x, y - 0.1 * height, width, body, name, paint)
    if name == 'car':
        top = y - 0.1 * height - body
        roof = [(x - 0.42 * width, top), (x + 0.42 * width, top)]
        roof += [(x + 0.3 * width, y - height), (x - 0.3 * width, y - height)]
        scene.polygon(roof, name, (95, 85, 75))
    else:
        panes = 1 if name == 'truck' else 4
        for i in range(panes):
            pane = x + width * ((i + 0.5) / panes - 0.5)
            size = (0.75 * width / panes, 0.28 * height)
            scene.box(pane, y - 0.6 * height, *size, name, (90, 80, 70))
    for wheel in (-0.32, 0.32):
        size = (0.09 * width, 0.16 * height)
        centre = (x + wheel * width, y - 0.13 * height)
        scene.disc(*centre, size, name, (40, 40, 40))


def populate(scene: Scene, road: float, walk: float) -> None:
    """People, vehicles and poles, far ones first."""
    rng = scene.rng
    crowd = ['car'] * 6 + ['person'] * 7 + ['pole'] * 5 + ['bicycle'] * 2
    crowd += ['truck', 'bus', 'train', 'motorcycle', 'motorcycle']
    depths = 7 + 55 * rng.random(len(crowd)) ** 1.5
    for depth, name in sorted(zip(depths, crowd, strict=True), reverse=True):
        if name in ('truck', 'bus', 'train'):
            depth = max(depth, 16.0)
        side = 1 if rng.random() < 0.5 else -1
        if name in ('person', 'pole'):
            lateral = side * (road + walk * float(rng.uniform(0.15, 0.9)))
        else:
            lateral = side * road * float(rng.uniform(0.35, 0.9))
        if name == 'pole':
            draw_pole(scene, lateral, depth)
            continue
        place = (*scene.ground(lateral, depth), scene.scale(depth))
        if name == 'person':
            draw_figure(scene, name, *place)
        elif name in VEHICLES:
            draw_vehicle(scene, name, *place)
        else:
            draw_two_wheeler(scene, name, *place)


def add_light(scene: Scene) -> None:
    """Texture, shadows and the noise of a camera."""
    rng = scene.rng
    light = np.zeros((HEIGHT, WIDTH), np.float32)
    for cells, strength in ((6, 14), (40, 8), (320, 6)):
        noise = rng.normal(0, strength, (cells, 2 * cells)).astype(np.float32)
        light += cv2.resize(noise, (WIDTH, HEIGHT))
    gain = float(rng.uniform(0.85, 1.15))
    picture = scene.image.astype(np.float32) * gain + light[..., None]
    picture = cv2.GaussianBlur(picture, (0, 0), 1.1)
    grain = rng.normal(0, 2.5, (HEIGHT, WIDTH)).astype(np.float32)
    scene.image = (picture + grain[..., None]).clip(0, 255).astype(np.uint8)


def draw_scene(seed: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    """One scene.

    Args:
        seed: Of the data set.
        index: Of the scene in it.

    Returns:
        Image (H, W, 3) BGR and Cityscapes' label ids (H, W), both uint8.
    """
    scene = Scene(np.random.default_rng([seed, index]))
    road = float(scene.rng.uniform(4.5, 7.5))
    walk = float(scene.rng.uniform(2.5, 4.5))
    draw_surroundings(scene, road, walk)
    populate(scene, road, walk)
    add_light(scene)
    hood = (WIDTH * 0.45, HEIGHT * float(scene.rng.uniform(0.05, 0.1)))
    bottom = (WIDTH / 2, HEIGHT + 0.0)
    scene.disc(*bottom, hood, 'ego vehicle', (70, 60, 55))
    for border in (scene.labels[:4], scene.labels[:, :6]):
        border[:] = IDS['out of roi']
    return scene.image, scene.labels
