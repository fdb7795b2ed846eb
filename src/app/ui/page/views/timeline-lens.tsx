import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { rowHeight } from "../data/settings.ts";
import { formatSpan, now } from "../data/time.ts";
import { useKeys } from "../parts/hooks.ts";
import { PhaseShape, phaseClass } from "../parts/phase.tsx";
import { Empty } from "../parts/states.tsx";
import { useVirtualRows } from "../parts/virtual.tsx";
import type { LensProps } from "./lens.ts";
import { type Scale, scaleOf, ticksOf, type TimelineRow, timelineRows } from "./timeline.ts";

const headHeight = 28;
const mostZoom = 64;

/** One row per step, the time from left to right. */
export function TimelineLens({ model, selected, select }: LensProps) {
  const zoom = useSignal(1);
  const isFolded = useSignal(false);
  const view = model.head.value?.view;
  const steps = model.steps();
  const begun = view?.startedAt ?? view?.createdAt ?? 0;
  const end = Math.max(begun + 1, view?.finishedAt ?? now.value);
  const rows = useMemo(() => timelineRows(steps, begun, end), [steps, begun, end]);
  const scale = useMemo(() => scaleOf(rows, begun, end, isFolded.value), [rows, begun, end, isFolded.value]);
  const height = rowHeight();
  const { scroller, shown, reveal } = useVirtualRows<HTMLDivElement>(rows.length, height, headHeight);
  const at = rows.findIndex(({ id }) => id === selected);
  useEffect(() => {
    if (at >= 0) reveal(at);
  }, [at]);
  const zoomBy = (factor: number) => (): void => {
    zoom.value = Math.min(mostZoom, Math.max(1, zoom.peek() * factor));
  };
  useKeys([
    { keys: "+", label: "Zoom in", run: zoomBy(2) },
    { keys: "-", label: "Zoom out", run: zoomBy(0.5) },
  ]);
  if (rows.length === 0 || view === undefined)
    return (
      <Empty title="No steps yet">
        <p>The timeline begins with the first step.</p>
      </Empty>
    );
  const onWheel = (event: WheelEvent): void => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.25 : 0.8)();
  };
  const { first, end: last } = shown.value;
  const width = `${100 * zoom.value}%`;
  return (
    <div class="timeline">
      <div class="lens-tools">
        <button type="button" onClick={zoomBy(2)}>
          Zoom in
        </button>
        <button type="button" onClick={zoomBy(0.5)} disabled={zoom.value === 1}>
          Zoom out
        </button>
        <label class="check">
          <input
            type="checkbox"
            checked={isFolded.value}
            onChange={(event) => {
              isFolded.value = event.currentTarget.checked;
            }}
          />
          Fold idle time
        </label>
        <Legend />
      </div>
      <div
        ref={scroller}
        class="timeline-scroll"
        tabIndex={0}
        role="region"
        aria-label="Timeline of the steps"
        onWheel={onWheel}
      >
        <div class="timeline-field" style={{ width, height: `${headHeight + rows.length * height}px` }}>
          <Axis
            scale={scale}
            begun={begun}
            end={end}
            marks={Math.round(8 * zoom.value)}
            deadline={view.deadlineAt}
            isOver={view.finishedAt !== undefined}
          />
          {rows.slice(first, last).map((row, offset) => (
            <Row
              key={row.id}
              row={row}
              scale={scale}
              begun={begun}
              top={headHeight + (first + offset) * height}
              isSelected={row.id === selected}
              onSelect={() => select(row.id)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

const percent = (part: number): string => `${100 * part}%`;

interface AxisProps {
  readonly scale: Scale;
  readonly begun: number;
  readonly end: number;
  readonly marks: number;
  readonly deadline: number | undefined;
  readonly isOver: boolean;
}

function Axis({ scale, begun, end, marks, deadline, isOver }: AxisProps) {
  return (
    <div class="timeline-axis" aria-hidden="true">
      {ticksOf(end - begun, marks).map((tick) => (
        <span key={tick} class="tick" style={{ left: percent(scale.at(begun + tick)) }}>
          {tick === 0 ? "0" : formatSpan(tick)}
        </span>
      ))}
      {scale.folds.map(({ at, left }) => (
        <span
          key={at}
          class="fold"
          style={{ left: percent(at) }}
          title={`${formatSpan(left)} without a running step`}
        />
      ))}
      {!isOver && <span class="now-line" style={{ left: percent(scale.at(end)) }} />}
      {deadline !== undefined && deadline <= end && (
        <span class="deadline-line" style={{ left: percent(scale.at(deadline)) }} />
      )}
    </div>
  );
}

interface RowProps {
  readonly row: TimelineRow;
  readonly scale: Scale;
  readonly begun: number;
  readonly top: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

function Row({ row, scale, begun, top, isSelected, onSelect }: RowProps) {
  const said = row.bars
    .map(
      ({ from, to, tone }) =>
        `${tone === "ended" ? "ran" : tone} ${formatSpan(to - from)} from ${formatSpan(from - begun)}`,
    )
    .join(", ");
  return (
    <button
      type="button"
      class={`timeline-row ${isSelected ? "selected" : ""}`}
      aria-pressed={isSelected}
      aria-label={`${row.name}, ${row.phase}${said === "" ? "" : `, ${said}`}`}
      style={{ top: `${top}px` }}
      onClick={onSelect}
    >
      <span class="timeline-bars">
        {row.bars.map(({ from, to, tone }) => {
          const [left, right] = [scale.at(from), scale.at(to)];
          return (
            <span
              key={`${from} ${tone}`}
              class={`time-bar tone-${tone} ${phaseClass(row.phase)}`}
              style={{ left: percent(left), width: percent(Math.max(0, right - left)) }}
            />
          );
        })}
      </span>
      <span class="timeline-name">
        <PhaseShape phase={row.phase} />
        <span class="cut">{row.name}</span>
      </span>
    </button>
  );
}

const Legend = () => (
  <ul class="legend" aria-label="Tones">
    {(["waiting", "starting", "running", "suspended"] as const).map((tone) => (
      <li key={tone}>
        <span class={`time-bar tone-${tone} phase-running`} aria-hidden="true" />
        {tone}
      </li>
    ))}
  </ul>
);
