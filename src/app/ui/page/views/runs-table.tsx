import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { RunSummary } from "#app/ui/wire.ts";
import { confirmAloud } from "../data/page.ts";
import { keyOf, runPath } from "../data/refs.ts";
import { href, navigate, setQuery } from "../data/router.ts";
import type { RunList } from "../data/runs.ts";
import { rowHeight } from "../data/settings.ts";
import { clock } from "../data/time.ts";
import { useKeys } from "../parts/hooks.ts";
import { Phase } from "../parts/phase.tsx";
import { type Column, TableHead } from "../parts/table.tsx";
import { Span, Time } from "../parts/time.tsx";
import { GapRow, useVirtualRows } from "../parts/virtual.tsx";

export type Selected = Signal<ReadonlySet<string>>;

/** Runs that one question lists and one person can oversee. */
const mostSelected = 500;

const headHeight = 32;

interface RunTableProps {
  readonly list: RunList;
  readonly sort: string;
  readonly selected: Selected;
}

export function RunTable({ list, sort, selected }: RunTableProps) {
  const order = list.order.value;
  const height = rowHeight();
  const { scroller, shown, reveal } = useVirtualRows<HTMLDivElement>(order.length, height, headHeight);
  const current = useSignal(-1);
  const lastPicked = useRef(-1);
  const { first, end } = shown;
  useEffect(() => {
    if (end >= order.length - 40) void list.more();
  }, [end, order.length]);
  useEffect(() => {
    scroller.current?.scrollTo({ top: 0 });
    current.value = -1;
  }, [list]);
  const move = (by: number) => (): void => {
    const next = Math.max(0, Math.min(order.length - 1, current.peek() + by));
    current.value = next;
    reveal(next);
    const row = (): HTMLElement | null => document.getElementById(`run-${next}`);
    // One that is far away is drawn first.
    if (row() === null) clock.after(30, () => row()?.focus({ preventScroll: true }));
    else row()?.focus({ preventScroll: true });
  };
  const open = (): boolean => {
    const run = list.row(order[current.peek()] ?? "")?.peek();
    if (run === undefined || !(document.activeElement instanceof HTMLAnchorElement)) return false;
    navigate(runPath(keyOf(run)));
    return true;
  };
  const select = (keys: readonly string[], isOn: boolean): void => {
    const next = new Set(selected.peek());
    for (const key of keys)
      if (!isOn) next.delete(key);
      else if (next.size < mostSelected) next.add(key);
    selected.value = next;
    confirmAloud(`${next.size} selected${next.size === mostSelected ? ", which is the most" : ""}`);
  };
  /** With Shift all from the one picked before. */
  const pick = (index: number, isRange: boolean): void => {
    const from = isRange && lastPicked.current >= 0 ? lastPicked.current : index;
    const isOn = !selected.peek().has(order[index] ?? "");
    select(order.slice(Math.min(from, index), Math.max(from, index) + 1), isOn);
    lastPicked.current = index;
  };
  const pickCurrent = (isRange: boolean) => (): boolean => {
    if (order[current.peek()] === undefined) return false;
    pick(current.peek(), isRange);
    return true;
  };
  useKeys([
    { keys: "j", label: "Next row", run: move(1) },
    { keys: "ArrowDown", label: "Next row", run: move(1) },
    { keys: "k", label: "Previous row", run: move(-1) },
    { keys: "ArrowUp", label: "Previous row", run: move(-1) },
    { keys: "Enter", label: "Open the row", run: open },
    { keys: "s", label: "Select the row", run: pickCurrent(false) },
    { keys: "S", label: "Select all rows from the last selected one", run: pickCurrent(true) },
  ]);
  const isAll = order.length > 0 && selected.value.size >= Math.min(order.length, mostSelected);
  const sorting = (id: string, name: string, isReversed = false): Column => {
    // Ages grow from the newest on, which is how the list comes.
    const sorted = (sort || "age") === name ? "ascending" : sort === `-${name}` ? "descending" : undefined;
    const head = <SortButton label={id} sort={sort} name={name} isReversed={isReversed} sorted={sorted} />;
    return { id, head, sorted };
  };
  return (
    <div class="runs-scroll" ref={scroller} tabIndex={0} role="region" aria-label="List of runs">
      <table class="table runs" aria-rowcount={order.length + 1}>
        <TableHead
          columns={[
            {
              id: "Selected",
              class: "pick",
              head: (
                <input
                  type="checkbox"
                  aria-label="Select all runs that are loaded"
                  checked={isAll}
                  onClick={() => select(isAll ? [...selected.peek()] : order, !isAll)}
                />
              ),
            },
            sorting("State", "phase"),
            sorting("Name", "name"),
            { id: "Dialect", class: "from-middle" },
            { id: "Progress", class: "from-middle" },
            { ...sorting("Started", "age"), class: "from-middle" },
            sorting("Duration", "duration", true),
            { id: "Message", class: "from-wide" },
          ]}
        />
        <tbody>
          <GapRow height={first * height} />
          {order.slice(first, end).map((key, offset) => {
            const run = list.row(key);
            const index = first + offset;
            return (
              run !== undefined && (
                <Row
                  key={key}
                  run={run}
                  index={index}
                  isSelected={selected.value.has(key)}
                  onPick={(isRange) => pick(index, isRange)}
                  onFocus={() => {
                    current.value = index;
                  }}
                />
              )
            );
          })}
          <GapRow height={(order.length - end) * height} />
        </tbody>
      </table>
    </div>
  );
}

interface SortButtonProps {
  readonly label: string;
  /** Of the address: empty, or what the list is sorted by, after a minus sign the other way. */
  readonly sort: string;
  readonly name: string;
  /** Which way is tried first. */
  readonly isReversed: boolean;
  readonly sorted: Column["sorted"];
}

/** One way, the other way, and as the list comes. */
function SortButton({ label, sort, name, isReversed, sorted }: SortButtonProps) {
  const ways = isReversed ? [`-${name}`, name] : [name, `-${name}`];
  // As the list comes, it is sorted by age. From another column's order the first way is next.
  const cycle = name === "age" ? ["", "-age"] : [...ways, ""];
  const next = cycle[(cycle.indexOf(sort) + 1) % cycle.length] ?? "";
  return (
    <button type="button" class="sort" onClick={() => setQuery({ sort: next })}>
      {label}
      <span aria-hidden="true">{{ ascending: "↑", descending: "↓", "": "" }[sorted ?? ""]}</span>
    </button>
  );
}

interface RowProps {
  readonly run: ReadonlySignal<RunSummary>;
  readonly index: number;
  readonly isSelected: boolean;
  readonly onPick: (isRange: boolean) => void;
  readonly onFocus: () => void;
}

function Row({ run: { value: run }, index, isSelected, onPick, onFocus }: RowProps) {
  const target = runPath(keyOf(run));
  const onClick = (event: MouseEvent): void => {
    const isOwn = event.target instanceof Element && event.target.closest("a, .pick") !== null;
    if (!isOwn && getSelection()?.isCollapsed !== false) navigate(target);
  };
  return (
    <tr aria-rowindex={index + 2} class={isSelected ? "is-selected" : ""} onClick={onClick}>
      <td class="pick">
        <input
          type="checkbox"
          aria-label={`Select ${run.name}`}
          checked={isSelected}
          onClick={(event) => onPick(event.shiftKey)}
          onFocus={onFocus}
        />
      </td>
      <td class="state">
        <Phase phase={run.phase} />
      </td>
      <td class="name">
        <a id={`run-${index}`} href={href(target)} onFocus={onFocus}>
          {run.name}
        </a>
        <span class="muted namespace">{run.ref.namespace ?? ""}</span>
        {(run.approvals ?? 0) > 0 && <span class="tag">waits for approval</span>}
      </td>
      <td class="from-middle muted">{run.dialect}</td>
      <td class="from-middle">
        <ProgressBar run={run} />
      </td>
      <td class="from-middle">
        <Time at={run.startedAt ?? run.createdAt} />
      </td>
      <td>
        <Span from={run.startedAt} to={run.finishedAt} />
      </td>
      <td class="from-wide cut muted" title={run.message}>
        {run.message}
      </td>
    </tr>
  );
}

const ProgressBar = ({ run: { done, total, phase } }: { readonly run: RunSummary }) => (
  <span class={`progress phase-${phase.toLowerCase()}`}>
    <span class="progress-track" aria-hidden="true">
      <span class="progress-fill" style={{ width: `${total === 0 ? 0 : (100 * done) / total}%` }} />
    </span>
    <span class="number">
      {done}/{total}
    </span>
  </span>
);
