import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type StepPhase, type StepView, summarizeItems } from "#engine/index.ts";
import { type Place, place, setQuery } from "../data/router.ts";
import { rowHeight } from "../data/settings.ts";
import { formatRelative, now } from "../data/time.ts";
import { countsOf, phaseOfMany, urgency } from "../graph/model.ts";
import { useKeys } from "../parts/hooks.ts";
import { Phase, PhaseShape } from "../parts/phase.tsx";
import { Empty } from "../parts/states.tsx";
import { Span } from "../parts/time.tsx";
import { useVirtualRows } from "../parts/virtual.tsx";
import type { LensProps } from "./lens.ts";
import { foundRows, type StepFilter, treeRows, type TreeRow } from "./step-tree.ts";

/** Groups of more members begin closed, unless something in them needs a look. */
const mostOpen = 20;

function closedAtFirst(model: LensProps["model"]): ReadonlySet<string> {
  const phaseOf = (id: string) => model.step(id)?.peek().phase ?? "Pending";
  return new Set(
    treeRows(model.steps(), new Set())
      .filter(({ members }) => members.length > mostOpen && !members.some((id) => phaseOf(id) === "Failed"))
      .map(({ id }) => id),
  );
}

export function StepsLens({ model, selected, select }: LensProps) {
  const closed = useSignal<ReadonlySet<string>>(useMemo(() => closedAtFirst(model), [model]));
  const order = model.order.value;
  const filter = stepFilter(place.value);
  const isFiltered = hasFilter(filter);
  const tree = useMemo(() => treeRows(model.steps(), closed.value), [order, closed.value]);
  const rows = isFiltered ? foundRows(model.steps(), filter) : tree;
  const height = rowHeight();
  const { scroller, shown, reveal } = useVirtualRows<HTMLDivElement>(rows.length, height, 0);
  const at = rows.findIndex(({ id }) => id === selected);
  useEffect(() => {
    if (at >= 0) reveal(at);
  }, [at]);
  const toggle = (id: string, isOpen: boolean): void => {
    const next = new Set(closed.peek());
    if (isOpen) next.delete(id);
    else next.add(id);
    closed.value = next;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[at];
    const go = (index: number): void => select(rows[Math.max(0, Math.min(rows.length - 1, index))]?.id);
    if (event.key === "ArrowDown") go(at + 1);
    else if (event.key === "ArrowUp") go(at - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(rows.length - 1);
    else if (event.key === "ArrowRight" && row?.isOpen === false) toggle(row.id, true);
    else if (event.key === "ArrowLeft" && row?.isOpen === true) toggle(row.id, false);
    else if (event.key === "ArrowLeft" && row !== undefined && row.level > 1)
      go(rows.findLastIndex(({ level }, index) => index < at && level < row.level));
    else if (event.key === "Enter" || event.key === " ")
      document.querySelector<HTMLElement>(".step-pane [role=tab]")?.focus();
    else return;
    event.preventDefault();
  };
  if (order.length === 0)
    return (
      <Empty title="No steps yet">
        <p>The steps appear as soon as the run is planned.</p>
      </Empty>
    );
  const { first, end } = shown;
  return (
    <>
      {(order.length >= leastFiltered || isFiltered) && <StepFilterLine model={model} filter={filter} />}
      {rows.length === 0 && <p class="loading">No step matches. Clear the filter to see all {order.length}.</p>}
      <div
        ref={scroller}
        class="tree"
        role="tree"
        aria-label="Steps"
        tabIndex={0}
        aria-activedescendant={at >= first && at < end ? `step-row-${at}` : undefined}
        onKeyDown={onKeyDown}
      >
        <div class="tree-rows" role="presentation" style={{ height: `${rows.length * height}px` }}>
          {rows.slice(first, end).map((row, offset) => (
            <Row
              key={row.id}
              row={row}
              model={model}
              index={first + offset}
              top={(first + offset) * height}
              isSelected={row.id === selected}
              onSelect={() => select(row.id)}
              onToggle={() => toggle(row.id, row.isOpen === false)}
            />
          ))}
        </div>
      </div>
    </>
  );
}

/** As it stands in the address. */
const stepFilter = ({ query }: Place): StepFilter => ({
  text: query.get("find") ?? "",
  phases: (query.get("phase") ?? "").split(",").filter(Boolean),
});

const hasFilter = ({ text, phases }: StepFilter): boolean => text !== "" || phases.length > 0;

/** Ids of the steps that the list shows or could unfold, for keys that move. */
export function shownSteps(model: LensProps["model"], at: Place): readonly string[] {
  const filter = stepFilter(at);
  return hasFilter(filter) ? foundRows(model.steps(), filter).map(({ id }) => id) : model.order.peek();
}

/** Shorter lists are read faster than filtered. */
const leastFiltered = 12;

function StepFilterLine({ model, filter }: { readonly model: LensProps["model"]; readonly filter: StepFilter }) {
  const input = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "/", label: "Filter the steps", run: () => input.current?.focus() }]);
  const counts = new Map<StepPhase, number>();
  for (const { phase } of model.steps()) counts.set(phase, (counts.get(phase) ?? 0) + 1);
  const toggle = (phase: string): void => {
    const { phases } = filter;
    const next = phases.includes(phase) ? phases.filter((one) => one !== phase) : [...phases, phase];
    setQuery({ phase: next.join(",") });
  };
  return (
    <div class="filter lens-tools" role="search">
      <input
        ref={input}
        type="search"
        aria-label="Filter steps"
        placeholder="Filter steps"
        spellcheck={false}
        value={filter.text}
        onInput={(event) => setQuery({ find: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <div class="chips">
        {urgency
          .filter((phase) => counts.has(phase) || filter.phases.includes(phase))
          .map((phase) => (
            <button
              type="button"
              key={phase}
              class="chip"
              aria-pressed={filter.phases.includes(phase)}
              aria-label={`${phase} ${counts.get(phase) ?? 0}`}
              onClick={() => toggle(phase)}
            >
              <PhaseShape phase={phase} />
              <span class="from-wide">{phase} </span>
              <span class="number">{counts.get(phase) ?? 0}</span>
            </button>
          ))}
      </div>
    </div>
  );
}

interface RowProps {
  readonly row: TreeRow;
  readonly model: LensProps["model"];
  readonly index: number;
  readonly top: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
  readonly onToggle: () => void;
}

function Row({ row, model, index, top, isSelected, onSelect, onToggle }: RowProps) {
  const step = model.step(row.id)?.value;
  const phases = row.members.map((id) => model.step(id)?.value.phase ?? "Pending");
  const phase = step?.phase ?? phaseOfMany(phases);
  return (
    <div
      id={`step-row-${index}`}
      class="tree-row"
      role="treeitem"
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.setSize}
      aria-selected={isSelected}
      aria-expanded={row.isOpen}
      style={{ top: `${top}px`, paddingLeft: `${8 + (row.level - 1) * 20}px` }}
      onClick={onSelect}
    >
      <span
        class="twist"
        aria-hidden="true"
        onClick={(event) => {
          if (row.isOpen === undefined) return;
          event.stopPropagation();
          onToggle();
        }}
      >
        {row.isOpen === undefined ? "" : row.isOpen ? "▾" : "▸"}
      </span>
      <Phase phase={phase} />
      <span class="tree-name">{row.label}</span>
      <span class="tree-note cut muted">
        {step === undefined || row.isOpen === false ? countsOf(phases) : noteOf(step)}
      </span>
      {step !== undefined && (
        <span class="tree-span">
          <Span from={step.startedAt} to={step.finishedAt} />
        </span>
      )}
    </div>
  );
}

const mostNamed = 3;

/** Why a step is where it is, in a few words. */
export function noteOf(step: StepView): string {
  const words: string[] = [];
  if (step.items !== undefined) words.push(summarizeItems(step.items));
  if (step.attempt > 1)
    words.push(`attempt ${step.attempt}${step.attempts === undefined ? "" : ` of ${step.attempts}`}`);
  if (step.notBefore !== undefined && step.notBefore > now.value) words.push(formatRelative(step.notBefore, now.value));
  if (step.waitingFor.length > 0) {
    const [named, more] = [step.waitingFor.slice(0, mostNamed), step.waitingFor.length - mostNamed];
    words.push(`waits for ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`);
  } else if (step.phase !== "Succeeded") {
    const text = step.holdUp?.message ?? step.message ?? step.reason;
    if (text !== undefined) words.push(text);
  }
  return words.join(" · ");
}
