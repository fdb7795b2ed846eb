import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { rowHeight } from "../data/settings.ts";
import { formatSpan, now } from "../data/time.ts";
import { useKeys } from "../parts/hooks.ts";
import { PhaseShape, phaseClass } from "../parts/phase.tsx";
import { Empty } from "../parts/states.tsx";
import { useVirtualRows } from "../parts/virtual.tsx";
import type { LensProps } from "./lens.ts";
import { axisEnd, formatTick, type Scale, scaleOf, ticksOf, type TimelineRow, timelineRows } from "./timeline.ts";

const headHeight = 28;
const mostZoom = 64;

/** One row per step, the time from left to right. */
export function TimelineLens({ model, selected, select }: LensProps) {
  const zoom = useSignal(1);
  const wish = useSignal<boolean | undefined>(undefined);
  const view = model.head.value?.view;
  const steps = model.steps();
  const begun = view?.startedAt ?? view?.createdAt ?? 0;
  const isOver = view?.finishedAt !== undefined;
  const until = Math.max(begun + 1, view?.finishedAt ?? now.value);
  const end = isOver ? until : axisEnd(begun, until, view?.deadlineAt);
  const rows = useMemo(() => timelineRows(steps, begun, until), [steps, begun, until]);
  const plain = useMemo(() => scaleOf(rows, begun, end, false), [rows, begun, end]);
  // Where most of the time is idle, what happened would be slivers.
  const isFolded = wish.value ?? plain.idle > (end - begun) / 2;
  const scale = useMemo(() => (isFolded ? scaleOf(rows, begun, end, true) : plain), [plain, isFolded]);
  const height = rowHeight();
  const { scroller, shown, reveal } = useVirtualRows<HTMLDivElement>(rows.length, height, headHeight);
  const at = rows.findIndex(({ id }) => id === selected);
  useEffect(() => {
    if (at >= 0) reveal(at);
  }, [at]);
  /** What is at `x` of the window stays there; without it, the middle. */
  const zoomBy = (factor: number, x?: number): void => {
    const next = Math.min(mostZoom, Math.max(1, zoom.peek() * factor));
    const { current } = scroller;
    const field = current?.querySelector(".timeline-axis")?.getBoundingClientRect();
    zoom.value = next;
    if (current === null || field === undefined || field.width === 0) return;
    const place = x ?? current.getBoundingClientRect().left + current.clientWidth / 2;
    const part = (place - field.left) / field.width;
    requestAnimationFrame(() => {
      const now = current.querySelector(".timeline-axis")?.getBoundingClientRect();
      if (now !== undefined) current.scrollLeft += now.left + part * now.width - place;
    });
  };
  useKeys([
    { keys: "+", label: "Zoom in", run: () => zoomBy(1.5) },
    { keys: "-", label: "Zoom out", run: () => zoomBy(1 / 1.5) },
    { keys: "0", label: "Show the whole run", run: () => zoomBy(0) },
    {
      keys: "i",
      label: "Fold idle time, or unfold it",
      run: () => {
        wish.value = !isFolded;
      },
    },
  ]);
  if (rows.length === 0 || view === undefined)
    return (
      <Empty title="No steps yet">
        <p>The timeline begins with the first step.</p>
      </Empty>
    );
  const onWheel = (event: WheelEvent): void => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.25 : 0.8, event.clientX);
  };
  const { first, end: last } = shown;
  const width = `${100 * zoom.value}%`;
  return (
    <div class="timeline">
      <div class="lens-tools">
        <button
          type="button"
          title="Key +, or Ctrl and the wheel"
          onClick={() => zoomBy(1.5)}
          disabled={zoom.value === mostZoom}
          aria-label="Zoom in"
        >
          +
        </button>
        <button
          type="button"
          title="Key -"
          onClick={() => zoomBy(1 / 1.5)}
          disabled={zoom.value === 1}
          aria-label="Zoom out"
        >
          −
        </button>
        {plain.idle > 0 && (
          <label class="check">
            <input
              type="checkbox"
              checked={isFolded}
              onChange={(event) => {
                wish.value = event.currentTarget.checked;
              }}
            />
            Fold {formatSpan(plain.idle)} of idle time
          </label>
        )}
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
            now={isOver ? undefined : until}
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
  /** While the run goes on. */
  readonly now: number | undefined;
}

/** Closer marks would write over each other. */
const leastApart = 0.6;

function Axis({ scale, begun, end, marks, deadline, now: present }: AxisProps) {
  let last = Number.NEGATIVE_INFINITY;
  const ticks = ticksOf(end - begun, marks).flatMap((tick) => {
    const at = scale.at(begun + tick);
    if (at - last < leastApart / marks) return [];
    last = at;
    return [{ tick, at }];
  });
  return (
    <div class="timeline-axis" aria-hidden="true">
      {ticks.map(({ tick, at }) => (
        <span key={tick} class="tick" style={{ left: percent(at) }}>
          {formatTick(tick)}
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
      {present !== undefined && <span class="now-line" style={{ left: percent(scale.at(present)) }} />}
      {deadline !== undefined && deadline <= end && (
        <span class="deadline-line" style={{ left: percent(scale.at(deadline)) }}>
          deadline
        </span>
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
      ({ from, to, tone, attempt }) =>
        `${attempt === undefined ? "" : `attempt ${attempt} `}${tone === "ended" ? "ran" : tone} ${formatSpan(to - from)} from ${formatSpan(from - begun)}`,
    )
    .join(", ");
  const last = row.bars.at(-1);
  const length =
    last === undefined || last.tone === "waiting"
      ? undefined
      : { at: scale.at(last.to), ms: last.to - (row.bars.find(({ tone }) => tone !== "waiting")?.from ?? last.from) };
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
        {row.bars.map(({ from, to, tone, attempt }) => {
          const [left, right] = [scale.at(from), scale.at(to)];
          return (
            <span
              key={`${from} ${tone}`}
              class={`time-bar tone-${tone} ${phaseClass(attempt === undefined ? row.phase : "Failed")}`}
              style={{ left: percent(left), width: percent(Math.max(0, right - left)) }}
            />
          );
        })}
        {length !== undefined && (
          <span
            class={length.at > 0.85 ? "bar-length is-inside" : "bar-length"}
            style={{ left: percent(length.at) }}
            // Drawn by the style sheet: the button's label has it already.
            data-text={formatSpan(length.ms)}
          />
        )}
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
        <span class={`time-bar tone-${tone} phase-${tone === "suspended" ? tone : "running"}`} aria-hidden="true" />
        {tone}
      </li>
    ))}
    <li>
      <span class="time-bar tone-ended phase-failed" aria-hidden="true" />
      failed
    </li>
  </ul>
);
