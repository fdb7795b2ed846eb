import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { LineRange } from "./line-range.ts";
import { LogLineRow, type Stamps } from "./line.tsx";
import type { LogModel } from "./log-model.ts";
import { RowHeights } from "./row-heights.ts";

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
  const lines = useRef<HTMLDivElement>(null);
  const seen = useSignal({ top: 0, height: 600, width: 0 });
  /** Counts what was measured anew. */
  const measured = useSignal(0);
  const isOurs = useRef(false);
  const rows = model.rows.value;
  void model.store.version.value;
  void measured.value;
  const folds = model.isFiltered.value ? model.matches.value : model.folded.value;
  const heights = useMemo(
    () => new RowHeights(rowHeight),
    [isWrapped, isWrapped ? seen.value.width : 0, props.stamps, folds],
  );
  const full = heights.topOf(rows.count);
  const scale = Math.max(1, full / highest);
  const top = heights.at(seen.value.top * scale);
  const first = Math.max(0, top.row - margin);
  const end = Math.min(rows.count, top.row + Math.ceil(seen.value.height / rowHeight) + 1 + margin);
  const drawn = Array.from({ length: Math.max(0, end - first) }, (_, index) => rows.lineOf(first + index));

  useEffect(() => {
    const [one, last] = [drawn[0], drawn.at(-1)];
    if (one !== undefined && last !== undefined) model.store.want({ first: one, end: last + 1 });
  }, [drawn[0], drawn.at(-1), rows.count]);
  useEffect(() => {
    const { current } = scroller;
    if (current === null) return;
    const observer = new ResizeObserver(() => {
      seen.value = placeOf(current);
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const scrollTo = (wanted: number): void => {
    const { current } = scroller;
    if (current === null) return;
    isOurs.current = current.scrollTop !== Math.round(wanted);
    current.scrollTop = wanted;
    seen.value = placeOf(current);
  };
  useLayoutEffect(() => {
    if (isFollowing) scrollTo(Number.MAX_SAFE_INTEGER);
  }, [isFollowing, rows.count, full]);
  const showGoal = (): void => {
    if (goal !== undefined)
      scrollTo(Math.max(0, (heights.topOf(rows.rowOf(goal.line)) - seen.peek().height / 3) / scale));
  };
  useLayoutEffect(showGoal, [goal]);
  // Rows that are higher than was known move those below them, but not the one that is read.
  useLayoutEffect(() => {
    if (!isWrapped) return;
    let [moved, changes] = [0, 0];
    for (const [index, row] of [...(lines.current?.children ?? [])].entries()) {
      const change = heights.set(first + index, row.getBoundingClientRect().height);
      if (change !== 0) changes += 1;
      if (first + index < top.row) moved += change;
    }
    if (changes === 0) return;
    measured.value += 1;
    if (moved !== 0 && !isFollowing) scrollTo(seen.peek().top + moved / scale);
  });
  const onScroll = (): void => {
    const { current } = scroller;
    if (current === null) return;
    const wentUp = current.scrollTop < seen.peek().top - 2;
    seen.value = placeOf(current);
    if (isOurs.current) isOurs.current = false;
    else if (isFollowing && wentUp) props.onLeaveEnd();
    else if (!isFollowing && current.scrollTop + current.clientHeight >= current.scrollHeight - 4) props.onReachEnd();
  };
  const onClick = (event: MouseEvent): void => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    const number = Number(button?.closest<HTMLElement>("[data-line]")?.dataset["line"]);
    if (button === null || Number.isNaN(number)) return;
    if (button.classList.contains("log-number")) props.onSelect(number, event.shiftKey);
    else if (button.classList.contains("log-title")) model.fold(number - 1);
    else props.onShowAll(number);
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
        <div
          class="log-window"
          ref={lines}
          onClick={onClick}
          style={{ transform: `translateY(${seen.value.top * (1 - scale) + heights.topOf(first)}px)` }}
        >
          <Lines {...props} drawn={drawn} />
        </div>
      </div>
    </div>
  );
}

const placeOf = ({ scrollTop: top, clientHeight: height, clientWidth: width }: HTMLElement) => ({ top, height, width });

function Lines({ model, stamps, selection, drawn }: LogBodyProps & { readonly drawn: readonly number[] }) {
  const start = model.store.line(0)?.time;
  const search = model.search.value.toLowerCase();
  const [found, sections] = [model.errors.value, model.sections.value];
  const errors = useMemo(() => new Set(found), [found]);
  const titles = useMemo(() => new Set(sections.map(({ line }) => line)), [sections]);
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
        />
      ))}
    </>
  );
}
