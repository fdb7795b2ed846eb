import type { Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { StepPhase } from "#engine/index.ts";
import { phaseClass } from "../parts/phase.tsx";
import type { Camera, ViewSize } from "./camera.ts";
import { type Layout, node } from "./layout.ts";
import { collect, type DrawnGraph, phaseOfMany } from "./model.ts";

const most = { width: 200, height: 120 } as const;

interface MinimapProps {
  readonly graph: DrawnGraph;
  readonly layout: Layout;
  readonly phases: ReadonlyMap<string, readonly StepPhase[]>;
  readonly size: ViewSize;
  readonly camera: Signal<Camera>;
}

/**
 * The whole graph as marks, one path for each phase. A click goes there. For mice only: keys and the list reach
 * everything.
 */
export function Minimap({ graph, layout, phases, size, camera }: MinimapProps) {
  const scale = Math.min(most.width / Math.max(1, layout.width), most.height / Math.max(1, layout.height));
  const paths = useMemo(() => {
    const byPhase = new Map<StepPhase, string[]>();
    // A mark is at least a pixel.
    const [width, height] = [Math.max(node.width, 1.5 / scale), Math.max(node.height, 1.5 / scale)];
    for (const { id } of graph.nodes) {
      const at = layout.places.get(id);
      if (at === undefined) continue;
      const phase = phaseOfMany(phases.get(id) ?? []);
      collect(byPhase, phase, `M${at.x} ${at.y}h${width}v${height}h${-width}z`);
    }
    return [...byPhase];
  }, [graph, layout, phases]);
  const { x, y, scale: zoom } = camera.value;
  const go = (event: PointerEvent & { readonly currentTarget: Element }): void => {
    if (event.buttons !== 1) return;
    const bounds = event.currentTarget.getBoundingClientRect();
    camera.value = {
      scale: zoom,
      x: (event.clientX - bounds.left) / scale - size.width / zoom / 2,
      y: (event.clientY - bounds.top) / scale - size.height / zoom / 2,
    };
  };
  return (
    <svg
      class="minimap"
      width={Math.max(1, layout.width * scale)}
      height={Math.max(1, layout.height * scale)}
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      aria-hidden="true"
      onPointerDown={go}
      onPointerMove={go}
    >
      {paths.map(([phase, marks]) => (
        <path key={phase} class={`mark ${phaseClass(phase)}`} d={marks.join("")} />
      ))}
      <rect class="minimap-view" x={x} y={y} width={size.width / zoom} height={size.height / zoom} />
    </svg>
  );
}
