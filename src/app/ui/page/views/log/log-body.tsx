import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { LineRange } from "./line-range.ts";
import { LogLineRow, type Stamps } from "./line.tsx";
import type { LogModel } from "./log-model.ts";

const rowHeight = 20;
/** Rows drawn beyond what is visible on either side. */
const margin = 20;
/** Browsers cut elements that are higher: above this a pixel of the scroll bar is more than a pixel of text. */
const highest = 15_000_000;

export interface LogBodyProps {
  readonly model: LogModel;
  readonly label: string;
  readonly stamps: Stamps;
  readonly isWrapped: boolean;
  readonly isFollowing: boolean;
  readonly selection: LineRange | undefined;
  /** A line, from 0, to bring into view whenever it changes. */
  readonly goal: { readonly line: number } | undefined;
  readonly onLeaveEnd: () => void;
  readonly onReachEnd: () => void;
  readonly onSelect: (number: number, isRange: boolean) => void;
  readonly onShowAll: (number: number) => void;
}

/** Only what is visible are elements. Lines are numbered from 1 for people. */
export function LogBody(props: LogBodyProps) {
  const { model, isFollowing, goal, isWrapped } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const seen = useSignal({ top: 0, height: 600 });
  const isOurs = useRef(false);
  const rows = model.rows.value;
  void model.store.version.value;
  const full = rows.count * rowHeight;
  const scale = Math.max(1, full / highest);
  const topRow = (seen.value.top * scale) / rowHeight;
  const first = Math.max(0, Math.floor(topRow) - margin);
  const end = Math.min(rows.count, Math.ceil(topRow + seen.value.height / rowHeight) + margin);
  const drawn = Array.from({ length: Math.max(0, end - first) }, (_, index) => rows.lineOf(first + index));

  useEffect(() => {
    const [one, last] = [drawn[0], drawn.at(-1)];
    if (one !== undefined && last !== undefined) model.store.want({ first: one, end: last + 1 });
  }, [drawn[0], drawn.at(-1), rows.count]);
  useEffect(() => {
    const { current } = scroller;
    if (current === null) return;
    const observer = new ResizeObserver(() => {
      seen.value = { top: current.scrollTop, height: current.clientHeight };
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const scrollTo = (top: number): void => {
    const { current } = scroller;
    if (current === null) return;
    isOurs.current = current.scrollTop !== Math.round(top);
    current.scrollTop = top;
    seen.value = { top: current.scrollTop, height: current.clientHeight };
  };
  useLayoutEffect(() => {
    if (isFollowing) scrollTo(Number.MAX_SAFE_INTEGER);
  }, [isFollowing, rows.count]);
  useLayoutEffect(() => {
    if (goal !== undefined) scrollTo(Math.max(0, (rows.rowOf(goal.line) * rowHeight - seen.peek().height / 3) / scale));
  }, [goal]);
  const onScroll = (): void => {
    const { current } = scroller;
    if (current === null) return;
    const wentUp = current.scrollTop < seen.peek().top - 2;
    seen.value = { top: current.scrollTop, height: current.clientHeight };
    if (isOurs.current) isOurs.current = false;
    else if (isFollowing && wentUp) props.onLeaveEnd();
    else if (!isFollowing && current.scrollTop + current.clientHeight >= current.scrollHeight - 4) props.onReachEnd();
  };
  return (
    <div
      class={`log-body${isWrapped ? " is-wrapped" : ""}`}
      ref={scroller}
      onScroll={onScroll}
      tabIndex={0}
      role="region"
      aria-label={props.label}
    >
      <div class="log-height" style={{ height: `${full / scale}px` }}>
        <div class="log-window" style={{ transform: `translateY(${seen.value.top - (topRow - first) * rowHeight}px)` }}>
          <Lines {...props} drawn={drawn} />
        </div>
      </div>
    </div>
  );
}

function Lines({
  model,
  stamps,
  selection,
  onSelect,
  onShowAll,
  drawn,
}: LogBodyProps & { readonly drawn: readonly number[] }) {
  const start = model.store.line(0)?.time;
  const search = model.search.value.toLowerCase();
  const errors = new Set(model.errors.value);
  const titles = new Map(model.sections.value.map((section) => [section.line, section]));
  const isSelected = (number: number): boolean =>
    selection !== undefined && number >= selection.first && number <= selection.last;
  return (
    <>
      {drawn.map((line) => (
        <LogLineRow
          key={line}
          number={line + 1}
          line={model.store.line(line)}
          stamps={stamps}
          start={start}
          search={search}
          kind={[
            isSelected(line + 1) ? "is-selected" : "",
            errors.has(line) ? "is-error" : "",
            model.isFiltered.value && model.rows.value.isAfterGap(line) ? "is-after-gap" : "",
          ].join(" ")}
          isOpen={titles.has(line) ? !model.folded.value.has(line) : undefined}
          onSelect={onSelect}
          onFold={(number) => model.fold(number - 1)}
          onShowAll={onShowAll}
        />
      ))}
    </>
  );
}
