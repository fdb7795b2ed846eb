import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { GridCell, GridStep, SourceGrid, SourceRun, SourceSummary } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { comparePath, inNamespace, keyOfPath, runPath, shellWord, sourcePath } from "../data/refs.ts";
import { href, navigate } from "../data/router.ts";
import { rowHeight } from "../data/settings.ts";
import { clock, formatSpan } from "../data/time.ts";
import { useAgainOnChange, useAnswer } from "../parts/answer.ts";
import { useKeys, useOffer } from "../parts/hooks.ts";
import { Phase, phaseClass, PhaseShape } from "../parts/phase.tsx";
import { spanOf } from "../parts/run-bars.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { GapRow, useVirtualRows } from "../parts/virtual.tsx";
import { rateText } from "./sources.tsx";
import type { ViewProps } from "./view-props.ts";

/** One source: its steps in its last runs, so that a step that fails now and then is seen at a glance. */
export function View({ params }: ViewProps) {
  const { dialect = "", namespace = "", kind = "", name = "" } = params;
  const key = { ...keyOfPath(dialect, namespace, name), kind };
  const [answer, again] = useAnswer(
    (signal) => requestJson<SourceGrid>("GET", sourcePath(key), { signal }),
    sourcePath(key),
  );
  const filter = { dialect, namespace: key.namespace, source: `${kind}/${name}` };
  useAgainOnChange({ what: "runs", params: filter }, again);
  const group = answer.is === "ready" ? answer.value.source.group : "";
  const qualified = group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
  useOffer({
    title: name,
    command: `kubectl get ${shellWord(`${qualified}/${name}`)}${inNamespace(key.namespace)}`,
    reference: `${qualified}/${name}`,
  });
  const line = `source:${kind}/${name} ns:${key.namespace}`;
  return (
    <div class="page-column">
      <p class="crumbs">
        <a href={href("/sources")}>Sources</a>
        <span aria-hidden="true"> / </span>
        {kind}
        <span aria-hidden="true"> / </span>
        {key.namespace}
      </p>
      <div class="page-title">
        <h1 tabIndex={-1} class="mono">
          {name}
        </h1>
        {answer.is === "ready" && <Figures source={answer.value.source} />}
        <a class="one-line" href={href(`/runs?filter=${encodeURIComponent(line)}`)}>
          Its runs
        </a>
      </div>
      {answer.is === "loading" && <Loading what="the grid" />}
      {answer.is === "failed" && <Failure thrown={answer.thrown} onRetry={again} />}
      {answer.is === "ready" && <Grid grid={answer.value} />}
    </div>
  );
}

const Figures = ({ source }: { readonly source: SourceSummary }) => (
  <dl class="facts inline">
    <div>
      <dt>Succeeded</dt>
      <dd>{rateText(source)}</dd>
    </div>
    <div>
      <dt>Median</dt>
      <dd class="number">{source.medianMs === undefined ? "-" : formatSpan(source.medianMs)}</dd>
    </div>
    <div>
      <dt>Runs shown</dt>
      <dd class="number">{source.runs.length}</dd>
    </div>
  </dl>
);

const headHeight = 64;

interface Spot {
  readonly row: number;
  readonly column: number;
}

/** Steps down, runs across, the newest at the right. One stop for Tab; arrows go from cell to cell. */
function Grid({ grid: { source, steps } }: { readonly grid: SourceGrid }) {
  const runs = useMemo(() => source.runs.toReversed(), [source]);
  const rows = useMemo(() => steps.map((step) => ({ ...step, cells: step.cells.toReversed() })), [steps]);
  const height = rowHeight();
  const { scroller, shown, reveal } = useVirtualRows<HTMLDivElement>(rows.length, height, headHeight);
  const current = useSignal<Spot>({ row: 0, column: runs.length - 1 });
  useEffect(() => scroller.current?.scrollTo({ left: scroller.current.scrollWidth }), []);
  const isMoving = useRef(false);
  const move = (down: number, right: number) => (): void => {
    const { row, column } = current.peek();
    const isInside = isMoving.current || document.activeElement?.id === idOf(current.peek());
    const within = (at: number, count: number): number => Math.max(0, Math.min(count - 1, at));
    const next = isInside
      ? { row: within(row + down, rows.length), column: within(column + right, runs.length) }
      : current.peek();
    current.value = next;
    isMoving.current = true;
    reveal(next.row);
    // Rows that come into view are drawn first. Of several keys in a row the last one has the focus.
    clock.after(30, () => {
      isMoving.current = false;
      document.getElementById(idOf(current.peek()))?.focus();
    });
  };
  useKeys([
    { keys: "ArrowDown", label: "Next step, in the grid", run: move(1, 0) },
    { keys: "j", label: "Next step, in the grid", run: move(1, 0) },
    { keys: "ArrowUp", label: "Previous step, in the grid", run: move(-1, 0) },
    { keys: "k", label: "Previous step, in the grid", run: move(-1, 0) },
    { keys: "ArrowRight", label: "Next run, in the grid", run: move(0, 1) },
    { keys: "ArrowLeft", label: "Previous run, in the grid", run: move(0, -1) },
    { keys: "c", label: "Compare the run with the one before it", run: () => compare(source, runs, current.peek()) },
  ]);
  const { first, end } = shown;
  return (
    <>
      <Said source={source} runs={runs} rows={rows} current={current} />
      <div class="runs-scroll" ref={scroller} tabIndex={0} role="region" aria-label="Grid of steps and runs">
        <table class="grid" aria-rowcount={rows.length + 1}>
          <RunHeads source={source} runs={runs} />
          <tbody>
            <GapRow height={first * height} />
            {rows.slice(first, end).map((row, offset) => (
              <Row key={row.id} row={row} index={first + offset} source={source} runs={runs} current={current} />
            ))}
            <GapRow height={(rows.length - end) * height} />
          </tbody>
        </table>
      </div>
    </>
  );
}

const idOf = ({ row, column }: Spot): string => `cell-${row}-${column}`;

function compare(source: SourceSummary, runs: readonly SourceRun[], { column }: Spot): boolean {
  const [before, run] = [runs[column - 1], runs[column]];
  if (before === undefined || run === undefined) return false;
  navigate(comparePath({ ...source, name: run.name }, before.name));
  return true;
}

const barsHeight = 40;

function RunHeads({ source, runs }: { readonly source: SourceSummary; readonly runs: readonly SourceRun[] }) {
  const longest = Math.max(1, ...runs.map(spanOf));
  return (
    <thead>
      <tr>
        <th scope="col" class="grid-name">
          Step
        </th>
        <th scope="col" class="is-number from-middle">
          Median
        </th>
        {runs.map((run) => (
          <th scope="col" key={run.name} class="grid-run">
            <a
              href={href(runPath({ ...source, name: run.name }))}
              tabIndex={-1}
              title={`${run.name}: ${run.phase}, ${formatSpan(spanOf(run))}`}
            >
              <span
                class={`grid-bar ${phaseClass(run.phase)}`}
                style={{ height: `${Math.max(3, (barsHeight * spanOf(run)) / longest)}px` }}
              />
              <span class="only-heard">
                {run.name}: {run.phase}
              </span>
            </a>
          </th>
        ))}
        <td class="grid-rest" />
      </tr>
    </thead>
  );
}

interface RowProps {
  readonly row: GridStep;
  readonly index: number;
  readonly source: SourceSummary;
  readonly runs: readonly SourceRun[];
  /** What Tab reaches. */
  readonly current: Signal<Spot>;
}

function Row({ row, index, source, runs, current }: RowProps) {
  // Of all rows, only those that the focus leaves and reaches are drawn again.
  const here = useComputed(() => (current.value.row === index ? current.value.column : undefined)).value;
  return (
    <tr aria-rowindex={index + 2}>
      <th scope="row" class="grid-name" title={row.id}>
        {row.group !== undefined && <span class="muted">{row.group} / </span>}
        {row.name}
      </th>
      <td class="is-number from-middle muted">{row.medianMs === undefined ? "-" : formatSpan(row.medianMs)}</td>
      {runs.map((run, column) => {
        const cell = row.cells[column] ?? null;
        if (cell === null) return <td key={run.name} />;
        const target = `${runPath({ ...source, name: run.name })}?${new URLSearchParams({ step: row.id }).toString()}`;
        return (
          <td key={run.name}>
            <a
              id={idOf({ row: index, column })}
              class={`grid-cell ${phaseClass(cell.phase)}`}
              href={href(target)}
              tabIndex={here === column ? 0 : -1}
              aria-label={`${row.name} of ${run.name}: ${textOf(cell)}`}
              onFocus={() => (current.value = { row: index, column })}
              onMouseEnter={() => (current.value = { row: index, column })}
            >
              <PhaseShape phase={cell.phase} />
              {cell.attempt !== undefined && <span class="grid-attempt">{cell.attempt}</span>}
            </a>
          </td>
        );
      })}
      <td />
    </tr>
  );
}

const textOf = ({ phase, ms, attempt }: GridCell): string =>
  [phase, ...(ms === undefined ? [] : [formatSpan(ms)]), ...(attempt === undefined ? [] : [`attempt ${attempt}`])].join(
    ", ",
  );

interface SaidProps {
  readonly source: SourceSummary;
  readonly runs: readonly SourceRun[];
  readonly rows: readonly GridStep[];
  readonly current: Signal<Spot>;
}

/** Describes the cell under the pointer or with the focus, without the delay of a tooltip. */
function Said({ source, runs, rows, current }: SaidProps) {
  const [run, row] = [runs[current.value.column], rows[current.value.row]];
  const cell = row?.cells[current.value.column];
  if (run === undefined || row === undefined) return null;
  const before = runs[current.value.column - 1];
  return (
    <p class="grid-said">
      <a class="mono" href={href(runPath({ ...source, name: run.name }))}>
        {run.name}
      </a>
      <Time at={run.startedAt ?? run.createdAt} />
      <span class="mono">{row.name}</span>
      {cell === null || cell === undefined ? (
        <span class="muted">not a step of this run</span>
      ) : (
        <>
          <Phase phase={cell.phase} />
          <span class="number">{cell.ms === undefined ? "" : formatSpan(cell.ms)}</span>
          {cell.attempt !== undefined && <span class="muted">try {cell.attempt}</span>}
        </>
      )}
      {before !== undefined && (
        <a href={href(comparePath({ ...source, name: run.name }, before.name))}>Compare with {before.name}</a>
      )}
    </p>
  );
}
