import { type Layout, node, type Point } from "./layout.ts";

/** What is seen: the layout's point at the upper left corner, and pixels per unit. */
export interface Camera extends Point {
  readonly scale: number;
}

export interface ViewSize {
  readonly width: number;
  readonly height: number;
}

export const scaleLimits = { least: 0.02, most: 2 } as const;
const margin = 24;
/** Up to so many nodes, a part that can be read is better than the whole. */
const mostLegible = 50;
const legible = 0.8;

const limited = (scale: number): number => Math.min(scaleLimits.most, Math.max(scaleLimits.least, scale));

/** The whole layout, not larger than life; the beginning of a small one whose text could not be read otherwise. */
export function fitted(layout: Layout, size: ViewSize): Camera {
  const whole = Math.min(
    1,
    (size.width - 2 * margin) / Math.max(1, layout.width),
    (size.height - 2 * margin) / Math.max(1, layout.height),
  );
  const scale = limited(layout.places.size > mostLegible ? whole : Math.max(whole, legible));
  return {
    scale,
    x: -Math.max(margin, (size.width - layout.width * scale) / 2) / scale,
    y: -Math.max(margin, (size.height - layout.height * scale) / 2) / scale,
  };
}

/** The point of the view stays where it is. */
export function zoomedAt(camera: Camera, at: Point, factor: number): Camera {
  const scale = limited(camera.scale * factor);
  return {
    scale,
    x: camera.x + at.x / camera.scale - at.x / scale,
    y: camera.y + at.y / camera.scale - at.y / scale,
  };
}

/** Moved by as little as shows the node at `place`; not at all if it is visible. */
export function movedBy(camera: Camera, place: Point, size: ViewSize): Camera {
  const edge = margin / camera.scale;
  const [width, height] = [size.width / camera.scale, size.height / camera.scale];
  const within = (from: number, length: number, span: number, at: number): number =>
    at - edge < from ? at - edge : at + length + edge > from + span ? at + length + edge - span : from;
  return {
    scale: camera.scale,
    x: within(camera.x, node.width, width, place.x),
    y: within(camera.y, node.height, height, place.y),
  };
}
