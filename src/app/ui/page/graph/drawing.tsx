import { type Signal, useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { StepPhase } from "#engine/index.ts";
import { PhaseMark, phaseClass } from "../parts/phase.tsx";
import { type Camera, type ViewSize, zoomedAt } from "./camera.ts";
import { edgeCurve, type Layout, node, type Point } from "./layout.ts";
import { countsOf, type DrawnGraph, type GraphNode, pathThrough, phaseOfMany } from "./model.ts";
import { Minimap } from "./minimap.tsx";

export type { Camera } from "./camera.ts";

interface DrawingProps {
  readonly graph: DrawnGraph;
  readonly layout: Layout;
  readonly phases: ReadonlyMap<string, readonly StepPhase[]>;
  readonly size: ViewSize;
  readonly camera: Signal<Camera>;
  /** Id of a box. */
  readonly selected: string | undefined;
  readonly onChoose: (box: string) => void;
}

/** Smaller text cannot be read, and costs most of the drawing. */
const leastTextScale = 0.4;
const minimapFrom = 50;

/** Only what is visible becomes elements, and a part beyond it, so that most moves change one attribute. */
export function Drawing({ graph, layout, phases, size, camera, selected, onChoose }: DrawingProps) {
  const { x, y, scale } = camera.value;
  const path = useMemo(
    () => (selected === undefined ? undefined : pathThrough(selected, graph.edges)),
    [selected, graph],
  );
  const drag = useDrag(camera);
  const tile = { width: Math.max(1, size.width / scale / 2), height: Math.max(1, size.height / scale / 2) };
  const seen = {
    left: Math.floor(x / tile.width) * tile.width - tile.width / 2,
    top: Math.floor(y / tile.height) * tile.height - tile.height / 2,
    width: 4 * tile.width,
    height: 4 * tile.height,
  };
  const withText = scale >= leastTextScale;
  const content = useMemo(
    () => (
      <Content
        graph={graph}
        layout={layout}
        phases={phases}
        seen={seen}
        withText={withText}
        selected={selected}
        path={path}
        onChoose={onChoose}
      />
    ),
    [graph, layout, phases, seen.left, seen.top, seen.width, seen.height, withText, selected, path],
  );
  const onWheel = (event: WheelEvent & { readonly currentTarget: Element }): void => {
    event.preventDefault();
    const bounds = event.currentTarget.getBoundingClientRect();
    const at = { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
    if (event.ctrlKey || event.metaKey) camera.value = zoomedAt(camera.peek(), at, event.deltaY < 0 ? 1.15 : 1 / 1.15);
    else camera.value = { scale, x: x + event.deltaX / scale, y: y + event.deltaY / scale };
  };
  return (
    <>
      <svg
        {...drag}
        class={withText ? drag.class : `${drag.class} far`}
        width={size.width}
        height={size.height}
        onWheel={onWheel}
      >
        <g transform={`scale(${scale}) translate(${-x} ${-y})`}>{content}</g>
      </svg>
      {graph.nodes.length >= minimapFrom && (
        <Minimap graph={graph} layout={layout} phases={phases} size={size} camera={camera} />
      )}
    </>
  );
}

function useDrag(camera: Signal<Camera>) {
  const from = useRef<(Point & { readonly camera: Camera; readonly pointer: number }) | undefined>(undefined);
  const isDragging = useSignal(false);
  return {
    class: isDragging.value ? "drawing dragging" : "drawing",
    onPointerDown: (event: PointerEvent) => {
      if (event.button === 0)
        from.current = { x: event.clientX, y: event.clientY, camera: camera.peek(), pointer: event.pointerId };
    },
    onPointerMove: (event: PointerEvent & { readonly currentTarget: Element }) => {
      const start = from.current;
      if (start === undefined || start.pointer !== event.pointerId) return;
      const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
      if (!isDragging.peek() && Math.hypot(dx, dy) < 4) return;
      if (!isDragging.peek()) event.currentTarget.setPointerCapture(event.pointerId);
      isDragging.value = true;
      const { scale } = start.camera;
      camera.value = { scale, x: start.camera.x - dx / scale, y: start.camera.y - dy / scale };
    },
    onPointerUp: () => {
      from.current = undefined;
      isDragging.value = false;
    },
    onPointerCancel: () => {
      from.current = undefined;
      isDragging.value = false;
    },
  };
}

interface ContentProps extends Omit<DrawingProps, "size" | "camera"> {
  readonly seen: { readonly left: number; readonly top: number; readonly width: number; readonly height: number };
  readonly withText: boolean;
  readonly path: ReadonlySet<string> | undefined;
}

function Content({ graph, layout, phases, seen, withText, selected, path, onChoose }: ContentProps) {
  const right = seen.left + seen.width;
  const bottom = seen.top + seen.height;
  const isSeen = (left: number, top: number, width: number, height: number): boolean =>
    left < right && left + width > seen.left && top < bottom && top + height > seen.top;
  return (
    <>
      {graph.edges.map(({ from, to }) => {
        const [a, b] = [layout.places.get(from), layout.places.get(to)];
        if (a === undefined || b === undefined) return null;
        const top = Math.min(a.y, b.y);
        if (!isSeen(a.x, top, b.x - a.x + node.width, Math.max(a.y, b.y) - top + node.height)) return null;
        const isOn = path?.has(from) === true && path.has(to);
        return <path key={`${from}\n${to}`} class={isOn ? "edge on-path" : "edge"} d={edgeCurve(a, b)} />;
      })}
      {graph.nodes.map((box, index) => {
        const at = layout.places.get(box.id);
        // The selected box is the active one for screen readers, wherever it is.
        const isSelected = box.id === selected;
        if (at === undefined || (!isSelected && !isSeen(at.x, at.y, node.width, node.height))) return null;
        return (
          <Box
            key={box.id}
            index={index}
            box={box}
            at={at}
            phases={phases.get(box.id) ?? []}
            withText={withText}
            isSelected={isSelected}
            isOff={path !== undefined && !path.has(box.id)}
            onChoose={onChoose}
          />
        );
      })}
    </>
  );
}

interface BoxProps {
  readonly index: number;
  readonly box: GraphNode;
  readonly at: Point;
  readonly phases: readonly StepPhase[];
  readonly withText: boolean;
  readonly isSelected: boolean;
  readonly isOff: boolean;
  readonly onChoose: (id: string) => void;
}

const mostLetters = 22;
const cut = (text: string): string => (text.length > mostLetters ? `${text.slice(0, mostLetters - 1)}…` : text);

function Box({ index, box, at, phases, withText, isSelected, isOff, onChoose }: BoxProps) {
  const phase = phaseOfMany(phases);
  const isFold = box.members.length > 0;
  const said = isFold ? `${box.label}: ${countsOf(phases)}` : `${box.label}, ${phase}`;
  const classes = ["box", phaseClass(phase), isSelected ? "selected" : "", isOff ? "off" : "", isFold ? "fold" : ""];
  return (
    <g
      id={`node-${index}`}
      class={classes.join(" ")}
      role="img"
      aria-label={said}
      transform={`translate(${at.x} ${at.y})`}
      onClick={() => onChoose(box.id)}
    >
      {isFold && <rect class="box-shade" x="4" y="4" width={node.width} height={node.height} rx="6" />}
      <rect class="box-face" width={node.width} height={node.height} rx="6" />
      {withText && (
        <>
          <PhaseMark phase={phase} x={10} y={12} />
          <text x="34" y={isFold ? 17 : 25}>
            {cut(box.label)}
          </text>
          {isFold && (
            <text class="box-note" x="34" y="32">
              {cut(countsOf(phases))}
            </text>
          )}
          <title>{said}</title>
        </>
      )}
    </g>
  );
}
