import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { RunSummary } from "#app/ui/wire.ts";
import { formatFilter, parseFilter, runPhases, togglePhase } from "../data/filter.ts";
import { confirmAloud } from "../data/page.ts";
import { keyOf, qualifiedKind, runPath } from "../data/refs.ts";
import { href, navigate, place, setQuery } from "../data/router.ts";
import { RunList } from "../data/runs.ts";
import { rowHeight } from "../data/settings.ts";
import { clock } from "../data/time.ts";
import { Gaps } from "../parts/gaps.tsx";
import { useKeys, useOffer } from "../parts/hooks.ts";
import { Phase, PhaseShape } from "../parts/phase.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Span, Time } from "../parts/time.tsx";
import { GapRow, useVirtualRows } from "../parts/virtual.tsx";

export function View() {
  const line = useComputed(() => place.value.query.get("filter") ?? "");
  const list = useMemo(() => new RunList(parseFilter(line.value)), [line.value]);
  // Asked for before the browser paints the frame around it.
  useLayoutEffect(() => {
    void list.open();
    return () => list.close();
  }, [list]);
  useOffer({ title: "Runs", command: commandOf(list, line.value) });
  return (
    <div class="page-column">
      <div class="page-title">
        <h1 tabIndex={-1}>Runs</h1>
        <span class="muted number">{list.total.value}</span>
        <a href={href("/sources")}>Group by source</a>
      </div>
      <FilterLine line={line.value} list={list} />
      <Gaps gaps={list.gaps.value} />
      <Fresh list={list} />
      <RunTable list={list} isFiltered={line.value !== ""} />
    </div>
  );
}

/** Lists the kinds that are on the page; phases and texts kubectl cannot filter by. */
function commandOf(list: RunList, line: string): string {
  const { namespace, label } = parseFilter(line);
  const kinds = [...new Set(list.order.value.flatMap((key) => qualifiedKind(list.row(key)?.peek().ref ?? noRun)))];
  const place = namespace.length === 1 ? `-n ${namespace[0]}` : "-A";
  const labels = label.length === 0 ? "" : ` -l ${label.join(",")}`;
  return `kubectl get ${kinds.join(",") || "workflow.slipway.dev"} ${place}${labels}`;
}

const noRun = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow" };

function FilterLine({ line, list }: { readonly line: string; readonly list: RunList }) {
  const input = useRef<HTMLInputElement>(null);
  const cancel = useRef(() => undefined as void);
  useKeys([{ keys: "/", label: "Filter", run: () => input.current?.focus() }]);
  useEffect(() => {
    if (input.current !== null && document.activeElement !== input.current) input.current.value = line;
  }, [line]);
  const onInput = (event: { readonly currentTarget: HTMLInputElement }): void => {
    const { value } = event.currentTarget;
    cancel.current();
    cancel.current = clock.after(200, () => setQuery({ filter: value.trim() }));
  };
  const filter = parseFilter(line);
  const setFilter = (next: string): void => {
    if (input.current !== null) input.current.value = next;
    setQuery({ filter: next });
  };
  return (
    <div class="filter" role="search">
      <input
        ref={input}
        type="search"
        aria-label="Filter runs"
        aria-describedby="filter-help"
        placeholder="phase:failed since:2h ns:prod text"
        spellcheck={false}
        autoComplete="off"
        onInput={onInput}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <span id="filter-help" class="only-heard">
        Tokens phase, dialect, ns, label, source and since, and any other text
      </span>
      <div class="chips">
        {runPhases.map((phase) => {
          const count = list.counts.value[phase] ?? 0;
          const isOn = filter.phase.includes(phase);
          if (count === 0 && !isOn && phase !== "Failed" && phase !== "Running") return null;
          return (
            <button
              type="button"
              key={phase}
              class="chip"
              aria-pressed={isOn}
              onClick={() => setFilter(formatFilter(togglePhase(filter, phase)))}
            >
              <PhaseShape phase={phase} />
              {phase} <span class="number">{count}</span>
            </button>
          );
        })}
      </div>
    </div>
  );
}

function Fresh({ list }: { readonly list: RunList }) {
  const count = list.fresh.value.length;
  const show = (): void => {
    list.showFresh();
    document.querySelector(".runs-scroll")?.scrollTo({ top: 0 });
    confirmAloud(`${count} new runs shown`);
  };
  return (
    <div aria-live="polite">
      {count > 0 && (
        <button type="button" class="fresh" onClick={show}>
          {count} new
        </button>
      )}
    </div>
  );
}

const headHeight = 32;

function RunTable({ list, isFiltered }: { readonly list: RunList; readonly isFiltered: boolean }) {
  const order = list.order.value;
  const height = rowHeight();
  const { scroller, shown, reveal } = useVirtualRows<HTMLDivElement>(order.length, height, headHeight);
  const current = useSignal(-1);
  const { first, end } = shown;
  useEffect(() => {
    if (end >= order.length - 40) void list.more();
  }, [end, order.length]);
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
    if (run === undefined || document.activeElement instanceof HTMLButtonElement) return false;
    navigate(runPath(keyOf(run)));
    return true;
  };
  useKeys([
    { keys: "j", label: "Next row", run: move(1) },
    { keys: "ArrowDown", label: "Next row", run: move(1) },
    { keys: "k", label: "Previous row", run: move(-1) },
    { keys: "ArrowUp", label: "Previous row", run: move(-1) },
    { keys: "Enter", label: "Open the row", run: open },
  ]);
  const load = list.load.value;
  if (load.is === "loading") return <Loading what="runs" />;
  if (load.is === "failed") return <Failure thrown={load.thrown} onRetry={() => void list.open()} />;
  if (order.length === 0) return isFiltered ? <NoMatch /> : <NoRuns />;
  return (
    <div class="runs-scroll" ref={scroller} tabIndex={0} role="region" aria-label="List of runs">
      <table class="table runs" aria-rowcount={order.length + 1}>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Name</th>
            <th scope="col" class="from-middle">
              Dialect
            </th>
            <th scope="col" class="from-middle">
              Progress
            </th>
            <th scope="col" class="from-middle">
              Started
            </th>
            <th scope="col">Duration</th>
            <th scope="col" class="from-wide">
              Message
            </th>
          </tr>
        </thead>
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

interface RowProps {
  readonly run: ReadonlySignal<RunSummary>;
  readonly index: number;
  readonly onFocus: () => void;
}

function Row({ run: { value: run }, index, onFocus }: RowProps) {
  const target = runPath(keyOf(run));
  const onClick = (event: MouseEvent): void => {
    const isLink = event.target instanceof Element && event.target.closest("a") !== null;
    if (!isLink && getSelection()?.isCollapsed !== false) navigate(target);
  };
  return (
    <tr aria-rowindex={index + 2} onClick={onClick}>
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

const NoRuns = () => (
  <Empty
    title="No runs yet"
    commands={[
      "slipway run examples/workflow/hello.yaml",
      "slipway run examples/workflow/diamond.yaml",
      "slipway apply examples/vela/first.yaml",
    ]}
  >
    <p>Runs of every dialect appear here as soon as they exist. Start one:</p>
  </Empty>
);

const NoMatch = () => (
  <Empty title="No run matches the filter">
    <p>
      <button type="button" onClick={() => setQuery({ filter: "" })}>
        Clear the filter
      </button>
    </p>
  </Empty>
);
