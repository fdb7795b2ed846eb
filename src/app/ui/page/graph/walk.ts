import type { Layout } from "./layout.ts";
import type { DrawnGraph } from "./model.ts";

/**
 * Where an arrow key leads: left and right along edges, up and down within the column. Undefined for other keys, and at
 * the end.
 */
export function neighbourOf(
  graph: DrawnGraph,
  layout: Layout,
  from: string | undefined,
  key: string,
): string | undefined {
  if (!key.startsWith("Arrow")) return undefined;
  const here = from === undefined ? undefined : layout.places.get(from);
  if (here === undefined) return graph.nodes[0]?.id;
  const candidates =
    key === "ArrowRight"
      ? graph.edges.filter((edge) => edge.from === from).map(({ to }) => to)
      : key === "ArrowLeft"
        ? graph.edges.filter((edge) => edge.to === from).map((edge) => edge.from)
        : graph.nodes
            .map(({ id }) => id)
            .filter((id) => {
              const place = layout.places.get(id);
              return place?.x === here.x && (key === "ArrowDown" ? place.y > here.y : place.y < here.y);
            });
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const id of candidates) {
    const far = Math.abs((layout.places.get(id)?.y ?? 0) - here.y);
    if (far < least) [best, least] = [id, far];
  }
  return best;
}
