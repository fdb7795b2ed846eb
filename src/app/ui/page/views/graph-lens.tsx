import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { StepPhase, StepView } from "#engine/index.ts";
import { emptyLayout, type Layout } from "../graph/layout.ts";
import { countsOf, drawnGraph, type DrawnGraph } from "../graph/model.ts";
import { findPlaces } from "../graph/place.ts";
import { type Camera, Drawing } from "../graph/drawing.tsx";
import { neighbourOf } from "../graph/walk.ts";
import { useKeys, useSize } from "../parts/hooks.ts";
import { Empty, Loading } from "../parts/states.tsx";
import type { LensProps } from "./lens.ts";
import { fitted, movedBy, scaleLimits, zoomedAt } from "../graph/camera.ts";

/** The whole plan, from left to right. */
export function GraphLens({ model, selected, select }: LensProps) {
  const opened = useSignal<ReadonlySet<string>>(new Set());
  const layout = useSignal<Layout>(emptyLayout);
  const camera = useSignal<Camera>({ x: 0, y: 0, scale: 1 });
  const isText = useSignal(false);
  const isFitted = useRef(false);
  const [frame, size] = useSize<HTMLDivElement>();
  const order = model.order.value;
  const steps = model.steps();
  const edges = model.graph.value.edges;
  const graph = useMemo(() => drawnGraph(steps, opened.value), [order, edges, opened.value]);
  useEffect(() => {
    findPlaces(graph, layout.peek(), (found) => {
      layout.value = found;
    });
  }, [graph]);
  const boxOf = useMemo(
    () =>
      new Map(
        graph.nodes.flatMap(({ id, members }) => [[id, id] as const, ...members.map((one) => [one, id] as const)]),
      ),
    [graph],
  );
  const phases = useMemo(() => phasesOf(steps, graph), [steps, graph]);
  useEffect(() => {
    if (isFitted.current || size.width === 0 || layout.value.places.size === 0) return;
    isFitted.current = true;
    const start = fitted(layout.value, size);
    const place = layout.value.places.get(boxOf.get(selected ?? "") ?? "");
    // Of a graph too large to read, the part around the selection.
    camera.value =
      place === undefined ? start : movedBy(start.scale < 0.4 ? { ...start, scale: 0.8 } : start, place, size);
  }, [layout.value, size]);
  const current = selected === undefined ? undefined : boxOf.get(selected);
  useEffect(() => {
    const place = current === undefined ? undefined : layout.value.places.get(current);
    if (place !== undefined && isFitted.current) camera.value = movedBy(camera.peek(), place, size);
  }, [current, size]);
  const zoomBy = (factor: number) => (): void => {
    camera.value = zoomedAt(camera.peek(), { x: size.width / 2, y: size.height / 2 }, factor);
  };
  const fit = (): void => {
    camera.value = fitted(layout.peek(), size);
  };
  const choose = (box: string): void => {
    const node = graph.nodes.find(({ id }) => id === box);
    if (node === undefined || node.members.length === 0) return select(box);
    opened.value = new Set([...opened.peek(), box]);
    select(node.members[0]);
  };
  useKeys([
    { keys: "+", label: "Zoom in", run: zoomBy(1.25) },
    { keys: "-", label: "Zoom out", run: zoomBy(0.8) },
    { keys: "0", label: "Show the whole graph", run: fit },
  ]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && current !== undefined) choose(current);
    else {
      const next = neighbourOf(graph, layout.peek(), current, event.key);
      if (next === undefined) return;
      const node = graph.nodes.find(({ id }) => id === next);
      select(node?.members[0] ?? next);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  if (graph.nodes.length === 0)
    return (
      <Empty title="No steps yet">
        <p>The graph appears as soon as the run is planned.</p>
      </Empty>
    );
  return (
    <div class="graph">
      <div class="lens-tools">
        <ZoomButton label="Zoom in" sign="+" camera={camera} limit={scaleLimits.most} onClick={zoomBy(1.25)} />
        <ZoomButton label="Zoom out" sign="−" camera={camera} limit={scaleLimits.least} onClick={zoomBy(0.8)} />
        <button type="button" onClick={fit}>
          Whole graph
        </button>
        {opened.value.size > 0 && (
          <button
            type="button"
            onClick={() => {
              opened.value = new Set();
            }}
          >
            Fold again
          </button>
        )}
        <button
          type="button"
          aria-pressed={isText.value}
          onClick={() => {
            isText.value = !isText.value;
          }}
        >
          As a list
        </button>
      </div>
      {isText.value ? (
        <GraphText graph={graph} phases={phases} onChoose={choose} />
      ) : (
        <div
          ref={frame}
          class="graph-frame"
          role="application"
          aria-label="Graph of the steps. Arrow keys follow the edges, Enter opens a folded box."
          aria-activedescendant={
            current === undefined ? undefined : `node-${graph.nodes.findIndex(({ id }) => id === current)}`
          }
          tabIndex={0}
          onKeyDown={onKeyDown}
        >
          {layout.value.places.size === 0 ? (
            <Loading what="the graph" />
          ) : (
            <Drawing
              graph={graph}
              layout={layout.value}
              phases={phases}
              size={size}
              camera={camera}
              selected={current}
              onChoose={choose}
            />
          )}
        </div>
      )}
    </div>
  );
}

interface ZoomButtonProps {
  readonly label: string;
  readonly sign: string;
  readonly camera: ReadonlySignal<Camera>;
  readonly limit: number;
  readonly onClick: () => void;
}

/** By itself, so that the lens is not drawn again whenever the graph moves. */
function ZoomButton({ label, sign, camera, limit, onClick }: ZoomButtonProps) {
  const isDone = useComputed(() => camera.value.scale === limit);
  return (
    <button type="button" onClick={onClick} disabled={isDone.value} aria-label={label}>
      {sign}
    </button>
  );
}

/** The phases of what each box stands for. */
function phasesOf(steps: readonly StepView[], graph: DrawnGraph): ReadonlyMap<string, readonly StepPhase[]> {
  const phaseOf = new Map(steps.map(({ id, phase }) => [id, phase]));
  return new Map(
    graph.nodes.map(({ id, members }) => [
      id,
      (members.length === 0 ? [id] : members).map((one) => phaseOf.get(one) ?? "Pending"),
    ]),
  );
}

interface GraphTextProps {
  readonly graph: DrawnGraph;
  readonly phases: ReadonlyMap<string, readonly StepPhase[]>;
  readonly onChoose: (id: string) => void;
}

/** The same for readers of text: each box with what it follows. */
function GraphText({ graph, phases, onChoose }: GraphTextProps) {
  const labels = new Map(graph.nodes.map(({ id, label }) => [id, label]));
  return (
    <ol class="graph-text" tabIndex={0} aria-label="Steps and what they follow">
      {graph.nodes.map(({ id, label }) => {
        const before = graph.edges.filter(({ to }) => to === id).map(({ from }) => labels.get(from) ?? from);
        return (
          <li key={id}>
            <button type="button" class="link" onClick={() => onChoose(id)}>
              {label}
            </button>{" "}
            {countsOf(phases.get(id) ?? [])}
            {before.length > 0 && <span class="muted"> after {before.join(", ")}</span>}
          </li>
        );
      })}
    </ol>
  );
}
