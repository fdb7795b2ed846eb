import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { runPhases } from "#app/ui/run-phases.ts";
import type { RunSummary } from "#app/ui/wire.ts";
import { type BulkAction, planOf } from "../data/bulk-plan.ts";
import { formatFilter, parseFilter, togglePhase } from "../data/filter.ts";
import { confirmAloud } from "../data/page.ts";
import { qualifiedKind } from "../data/refs.ts";
import { href, navigate, place, setQuery } from "../data/router.ts";
import { keyText, RunList } from "../data/runs.ts";
import { savedFilters } from "../data/saved-filters.ts";
import { obstacle } from "../data/server.ts";
import { clock } from "../data/time.ts";
import { Gaps } from "../parts/gaps.tsx";
import { useKeys, useOffer, usePaletteEntries } from "../parts/hooks.ts";
import { PhaseShape } from "../parts/phase.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { lazy } from "./lazy.tsx";
import { RunTable, type Selected } from "./runs-table.tsx";

export function View() {
  const line = useComputed(() => place.value.query.get("filter") ?? "");
  const sort = useComputed(() => place.value.query.get("sort") ?? "");
  const list = useMemo(() => new RunList(parseFilter(line.value), sort.value), [line.value, sort.value]);
  const selected = useSignal<ReadonlySet<string>>(new Set());
  // What another filter hides is not acted on.
  useMemo(() => {
    selected.value = new Set();
  }, [line.value]);
  // Asked for before the browser paints the frame around it.
  useLayoutEffect(() => {
    void list.open();
    return () => list.close();
  }, [list]);
  // The one before stays until the next is there: nothing flickers, and the focus stays where it is.
  const last = useRef(list);
  if (list.load.value.is !== "loading") last.current = list;
  const shown = last.current;
  useOffer({ title: "Runs", command: commandOf(shown, line.value) });
  return (
    <div class="page-column">
      <div class="page-title">
        <h1 tabIndex={-1}>Runs</h1>
        <span class="muted number">{shown.total.value}</span>
        <a href={href("/sources")}>Group by source</a>
      </div>
      <FilterLine line={line.value} list={shown} />
      <Gaps gaps={shown.gaps.value} />
      <Fresh list={shown} />
      <Listed list={shown} sort={sort.value} selected={selected} isFiltered={line.value !== ""} />
      <Selection list={shown} selected={selected} />
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
  const isOpened = useSignal(false);
  const openSaved = (): void => {
    isOpened.value = true;
  };
  useKeys([{ keys: "f", label: "Saved filters", run: openSaved }]);
  usePaletteEntries(
    savedFilters.value.map(({ name, search }) => ({
      label: `Filter: ${name}`,
      hint: "saved filter",
      run: () => navigate(`/runs${search}`),
    })),
  );
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
        placeholder="phase:failed since:2h duration>5m text"
        spellcheck={false}
        autoComplete="off"
        onInput={onInput}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <span id="filter-help" class="only-heard">
        Tokens phase, dialect, ns, label, source, since and duration, and any other text
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
        <button type="button" class="quiet" onClick={openSaved}>
          Saved filters
        </button>
      </div>
      {isOpened.value && (
        <SavedFilters
          onClose={() => {
            isOpened.value = false;
          }}
        />
      )}
    </div>
  );
}

const SavedFilters = lazy(async () => (await import("../parts/saved-filters.tsx")).SavedFilters);

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

interface ListedProps {
  readonly list: RunList;
  readonly sort: string;
  readonly selected: Selected;
  readonly isFiltered: boolean;
}

function Listed({ list, sort, selected, isFiltered }: ListedProps) {
  const load = list.load.value;
  if (load.is === "loading") return <Loading what="runs" />;
  if (load.is === "failed") return <Failure thrown={load.thrown} onRetry={() => void list.open()} />;
  if (list.order.value.length === 0) return isFiltered ? <NoMatch /> : <NoRuns />;
  return <RunTable list={list} sort={sort} selected={selected} />;
}

const Bulk = lazy(async () => (await import("../parts/bulk.tsx")).Bulk);

const bulkActions = [
  ["cancel", "Cancel"],
  ["retry", "Retry"],
  ["delete", "Delete"],
] as const;

function Selection({ list, selected }: { readonly list: RunList; readonly selected: Selected }) {
  const asked = useSignal<BulkAction | undefined>(undefined);
  const ask = (action: BulkAction | undefined): void => {
    asked.value = action;
  };
  const runs = [...selected.value].flatMap((key) => list.row(key)?.value ?? []);
  return (
    <>
      {runs.length > 0 && <SelectionBar runs={runs} selected={selected} onAsk={ask} />}
      {asked.value !== undefined && (
        <Bulk
          action={asked.value}
          runs={runs}
          onDone={(done) => {
            const left = new Set(selected.peek());
            for (const run of done) left.delete(keyText(run));
            selected.value = left;
          }}
          onClose={() => ask(undefined)}
        />
      )}
    </>
  );
}

interface SelectionBarProps {
  readonly runs: readonly RunSummary[];
  readonly selected: Selected;
  readonly onAsk: (action: BulkAction) => void;
}

/** What can be done with the selected runs. At the bottom, so that no row moves when it comes. */
function SelectionBar({ runs, selected, onAsk }: SelectionBarProps) {
  const reason = obstacle();
  const clear = (): void => {
    selected.value = new Set();
  };
  const focus = (): void => document.querySelector<HTMLElement>(".selection button:enabled")?.focus();
  useKeys([
    { keys: "x", label: "Actions for the selected rows", run: focus },
    { keys: "Escape", label: "Clear the selection", run: clear },
  ]);
  return (
    <section class="selection buttons" aria-label="Selected runs">
      <strong class="number">{runs.length} selected</strong>
      {bulkActions.map(([action, label]) => {
        const count = runs.filter((run) => planOf(action, run).isDone).length;
        return (
          <button
            type="button"
            key={action}
            class={action === "delete" ? "dangerous" : ""}
            disabled={reason !== undefined || count === 0}
            title={reason ?? (count === 0 ? `None of the selected runs allows ${action}` : undefined)}
            onClick={() => onAsk(action)}
          >
            {label} <span class="number">{count}</span>
          </button>
        );
      })}
      <button type="button" class="quiet" onClick={clear}>
        Clear
      </button>
    </section>
  );
}

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
