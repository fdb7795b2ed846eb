import { useSignalEffect } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { StepView } from "#engine/index.ts";
import { announce } from "../data/page.ts";
import { againPath, argumentsOf, keyOfPath, qualifiedKind, shellWord, textOfKey } from "../data/refs.ts";
import { navigate, place, setQuery } from "../data/router.ts";
import { RunModel } from "../data/run.ts";
import { useKeys, useOffer, usePaletteEntries } from "../parts/hooks.ts";
import { Failure, Loading } from "../parts/states.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { lazy } from "./lazy.tsx";
import type { LensProps } from "./lens.ts";
import type { ViewProps } from "./view-props.ts";
import { compareWithPrevious, goToNeighbour, RunHeader } from "./run-header.tsx";
import { StepPane } from "./step-pane.tsx";
import { shownSteps, StepsLens } from "./steps-lens.tsx";

const lenses: readonly { readonly id: string; readonly label: string; readonly Lens: ComponentType<LensProps> }[] = [
  { id: "steps", label: "Steps", Lens: StepsLens },
  { id: "graph", label: "Graph", Lens: lazy(async () => (await import("./graph-lens.tsx")).GraphLens) },
  { id: "timeline", label: "Timeline", Lens: lazy(async () => (await import("./timeline-lens.tsx")).TimelineLens) },
];

export function View({ params }: ViewProps) {
  const key = keyOfPath(params["dialect"] ?? "", params["namespace"] ?? "", params["name"] ?? "");
  const model = useMemo(() => new RunModel(key), [textOfKey(key)]);
  useEffect(() => {
    void model.open();
    return () => model.close();
  }, [model]);
  const ref = model.head.value?.view.ref;
  const [step, tab] = [place.value.query.get("step") ?? "", place.value.query.get("tab")];
  const shown = ref === undefined ? shellWord(key.name) : argumentsOf(ref);
  useOffer({
    title: key.name,
    command:
      tab === "log" ? `slipway logs ${shown}${step === "" ? "" : ` ${shellWord(step)}`}` : `slipway describe ${shown}`,
    reference: ref === undefined ? key.name : `${qualifiedKind(ref)}/${ref.name}`,
  });
  const load = model.load.value;
  if (load.is === "ready") return <Run model={model} />;
  return (
    <>
      <h1 tabIndex={-1}>{key.name}</h1>
      {load.is === "failed" ? (
        <Failure thrown={load.thrown} onRetry={() => void model.open()} />
      ) : (
        <Loading what="the run" />
      )}
    </>
  );
}

/** What most people come for: what failed, what waits for them, what is going on. */
function firstOfInterest(steps: readonly StepView[]): string | undefined {
  const leaf = steps.filter((step) => !steps.some(({ group }) => group === step.id));
  for (const phase of ["Failed", "Suspended", "Running"] as const) {
    const found = leaf.find((step) => step.phase === phase);
    if (found !== undefined) return found.id;
  }
  return undefined;
}

function Run({ model }: { readonly model: RunModel }) {
  const selected = place.value.query.get("step") ?? undefined;
  const lensId = place.value.query.get("lens") ?? "steps";
  const lens = lenses.find(({ id }) => id === lensId) ?? lenses[0];
  const select = (id: string | undefined): void => setQuery({ step: id ?? "" });
  useEffect(() => {
    if (selected === undefined) select(firstOfInterest(model.steps()));
  }, [model]);
  useAnnouncements(model);
  useRunKeys(model, selected, select);
  usePaletteEntries([
    ...lenses.map(({ id, label }, index) => ({
      label: `Show the ${label.toLowerCase()}`,
      hint: String(index + 1),
      run: () => setQuery({ lens: id === "steps" ? "" : id }),
    })),
    ...(model.head.value?.canRunAgain === true
      ? [{ label: `Run ${model.key.name} again`, hint: "action", run: () => navigate(againPath(model.key)) }]
      : []),
    ...model.order.value.map((id) => ({ label: `Step ${id}`, hint: "step", run: () => select(id) })),
  ]);
  if (lens === undefined) return null;
  const { Lens } = lens;
  return (
    <div class="run">
      <RunHeader model={model} />
      <div class="run-body">
        <section class="run-lens" aria-label="Steps of the run">
          <Tabs
            label="Views of the steps"
            tabs={lenses}
            current={lens.id}
            onChoose={(id) => setQuery({ lens: id === "steps" ? "" : id })}
            panel="lens-panel"
          />
          <div id="lens-panel" class="lens-panel" role="tabpanel" aria-label={lens.label}>
            <Lens model={model} selected={selected} select={select} />
          </div>
        </section>
        <StepPane model={model} selected={selected} select={select} />
      </div>
    </div>
  );
}

/** The phase of the run, and that of steps that failed, as they change. */
function useAnnouncements(model: RunModel): void {
  const before = useRef<string | undefined>(undefined);
  useSignalEffect(() => {
    const view = model.head.value?.view;
    if (view === undefined) return;
    const said = `${view.title ?? view.name} is ${view.phase}, ${view.progress.done} of ${view.progress.total} steps done`;
    if (before.current !== undefined && before.current !== said) announce(said);
    before.current = said;
  });
}

function useRunKeys(model: RunModel, selected: string | undefined, select: (id: string | undefined) => void): void {
  const move = (by: number) => (): void => {
    const order = shownSteps(model, place.peek());
    const at = selected === undefined ? -1 : order.indexOf(selected);
    select(order[Math.max(0, Math.min(order.length - 1, at + by))]);
  };
  const show = (lens: string) => (): void => setQuery({ lens });
  useKeys([
    { keys: "1", label: "Steps, graph, timeline", run: show("") },
    { keys: "2", label: "Steps, graph, timeline", run: show("graph") },
    { keys: "3", label: "Steps, graph, timeline", run: show("timeline") },
    { keys: "j", label: "Next step", run: move(1) },
    { keys: "k", label: "Previous step", run: move(-1) },
    { keys: "l", label: "Log of the step", run: () => setQuery({ tab: "log" }) },
    { keys: "x", label: "Actions", run: () => document.querySelector<HTMLElement>(".run-actions button")?.focus() },
    { keys: "[", label: "Previous run of the same source", run: () => void goToNeighbour(model, 1) },
    { keys: "]", label: "Next run of the same source", run: () => void goToNeighbour(model, -1) },
    { keys: "c", label: "Compare with the previous run of the source", run: () => void compareWithPrevious(model) },
    {
      keys: "Escape",
      label: "Back",
      run: () => {
        if (selected === undefined) return false;
        select(undefined);
        return true;
      },
    },
  ]);
}
