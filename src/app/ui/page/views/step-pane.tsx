import { useSignal } from "@preact/signals";
import type { ObjectRef, StepView } from "#engine/index.ts";
import { objectYaml } from "../data/objects.ts";
import { textOfRef } from "../data/refs.ts";
import { place, setQuery } from "../data/router.ts";
import type { RunHead, RunModel } from "../data/run.ts";
import { Actions } from "../parts/actions.tsx";
import { useAnswer } from "../parts/answer.ts";
import { EventsOf } from "../parts/events-of.tsx";
import { Phase } from "../parts/phase.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { TableHead } from "../parts/table.tsx";
import { Span, Time } from "../parts/time.tsx";
import { lazy } from "./lazy.tsx";
import { Message, ObjectLink } from "./run-header.tsx";
import type { LensProps } from "./lens.ts";
import { noteOf } from "./steps-lens.tsx";

const LogView = lazy(async () => (await import("./log.tsx")).LogView);

const tabs = [
  { id: "overview", label: "Overview" },
  { id: "log", label: "Log" },
  { id: "data", label: "Data" },
  { id: "events", label: "Events" },
  { id: "yaml", label: "YAML" },
] as const;

/** Everything about the selected step, or about the run if none is selected. */
export function StepPane({ model, selected, select }: LensProps) {
  const head = model.head.value;
  const step = selected === undefined ? undefined : model.step(selected)?.value;
  const tab = tabs.find(({ id }) => id === place.value.query.get("tab")) ?? tabs[0];
  if (head === undefined) return null;
  return (
    <section class="step-pane" aria-label={step === undefined ? "The run" : `Step ${step.name}`}>
      <div class="pane-title">
        <h2 class="wrap">{step?.name ?? "The run"}</h2>
        {step !== undefined && (
          <>
            <Phase phase={step.phase} native={step.nativePhase} />
            <button type="button" class="quiet" onClick={() => select(undefined)}>
              Show the run
            </button>
          </>
        )}
      </div>
      <Tabs
        label="About the step"
        tabs={tabs}
        current={tab.id}
        onChoose={(id) => setQuery({ tab: id === "overview" ? "" : id })}
        panel="step-panel"
      />
      <div id="step-panel" class="pane-body" role="tabpanel" aria-label={tab.label} tabIndex={0}>
        <Content tab={tab.id} model={model} head={head} step={step} select={select} />
      </div>
    </section>
  );
}

interface ContentProps {
  readonly tab: (typeof tabs)[number]["id"];
  readonly model: RunModel;
  readonly head: RunHead;
  readonly step: StepView | undefined;
  readonly select: LensProps["select"];
}

function Content({ tab, model, head, step, select }: ContentProps) {
  const object = step?.child ?? head.view.ref;
  switch (tab) {
    case "overview":
      return step === undefined ? (
        <RunOverview head={head} />
      ) : (
        <StepOverview model={model} head={head} step={step} select={select} />
      );
    case "log":
      return (
        <LogView
          run={model.key}
          step={step?.id}
          attempt={step?.attempt}
          isOver={isOver(step, head)}
          isFailed={step?.phase === "Failed"}
        />
      );
    case "data":
      return <StepData model={model} step={step} />;
    case "events":
      return <EventsOf key={textOfRef(object)} object={object} named={textOfRef(object)} />;
    case "yaml":
      return <Yaml key={textOfRef(object)} object={object} />;
  }
}

const isOver = (step: StepView | undefined, head: RunHead): boolean =>
  (step === undefined ? head.view.finishedAt : step.finishedAt) !== undefined;

/** Objects of a run; more are folded. */
const mostOpen = 12;

function RunOverview({ head: { view, description } }: { readonly head: RunHead }) {
  return (
    <>
      {view.children.length > 0 && (
        <details open={view.children.length <= mostOpen}>
          <summary>
            {view.children.length} {view.children.length === 1 ? "object" : "objects"} of this run
          </summary>
          <ul class="plain">
            {view.children.slice(0, 100).map((child) => (
              <li key={textOfRef(child)}>
                <ObjectLink to={child} />
              </li>
            ))}
          </ul>
        </details>
      )}
      <pre class="text" tabIndex={0}>
        {description}
      </pre>
    </>
  );
}

interface StepProps {
  readonly model: RunModel;
  readonly head: RunHead;
  readonly step: StepView;
  readonly select: LensProps["select"];
}

const attemptText = ({ attempt, attempts }: StepView): string =>
  attempts === undefined ? String(attempt) : `${attempt} of at most ${attempts}`;

const mostLinks = 8;

interface StepLinksProps {
  readonly ids: readonly string[];
  readonly model: RunModel;
  readonly select: LensProps["select"];
}

/** Steps by name; a click selects. */
function StepLinks({ ids, model, select }: StepLinksProps) {
  const isOpen = useSignal(false);
  const shown = isOpen.value ? ids : ids.slice(0, mostLinks);
  return (
    <span class="step-links">
      {shown.map((id) => (
        <button type="button" class="link mono" key={id} onClick={() => select(id)}>
          {model.step(id)?.value.name ?? id}
        </button>
      ))}
      {ids.length > shown.length && (
        <button
          type="button"
          class="link"
          onClick={() => {
            isOpen.value = true;
          }}
        >
          and {ids.length - shown.length} more
        </button>
      )}
    </span>
  );
}

function StepOverview({ model, head, step, select }: StepProps) {
  const traits = model.graph.value.nodes.find(({ id }) => id === step.id);
  const note = noteOf(step);
  const followers = model.graph.value.edges.filter(({ from }) => from === step.id).map(({ to }) => to);
  const facts: readonly (readonly [string, preact.ComponentChildren])[] = [
    ...(step.attempt > 1 || (step.attempts ?? 1) > 1 ? [["Attempt", attemptText(step)] as const] : []),
    ...(step.iteration === undefined ? [] : [["Round", step.iteration] as const]),
    ...(step.notBefore === undefined ? [] : [["Next attempt", <Time at={step.notBefore} />] as const]),
    ["Started", <Time at={step.startedAt} />],
    ["Duration", <Span from={step.startedAt} to={step.finishedAt} />],
    ...(step.dependencies.length === 0
      ? []
      : [["After", <StepLinks ids={step.dependencies} model={model} select={select} />] as const]),
    ...(followers.length === 0
      ? []
      : [["Before", <StepLinks ids={followers} model={model} select={select} />] as const]),
    ...(traits?.condition === undefined ? [] : [["Only if", <code>{traits.condition}</code>] as const]),
    ...(traits?.forEach === undefined ? [] : [["For each", traits.forEach] as const]),
    ...(traits?.repeat === undefined ? [] : [["Repeats", traits.repeat] as const]),
    ...(traits?.locks === undefined ? [] : [["Locks", traits.locks] as const]),
    ...(traits?.cache === undefined ? [] : [["Cache", traits.cache] as const]),
    ...(step.child === undefined ? [] : [["Object", <ObjectLink to={step.child} />] as const]),
  ];
  return (
    <>
      <Message phase={step.phase} reason={step.reason} message={step.message} />
      {step.holdUp !== undefined && <Message reason={step.holdUp.reason} message={step.holdUp.message} />}
      {step.message === undefined && step.holdUp === undefined && note !== "" && <p class="muted">{note}</p>}
      <Actions key={step.id} target={head.view.ref} step={step.id} actions={step.actions} asks={traits?.asks} />
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Earlier attempts={step.earlier ?? []} />
      {(step.items?.failures ?? []).length > 0 && (
        <>
          <h3>Items that failed first</h3>
          <ul class="plain">
            {step.items?.failures?.map(({ index, reason, message }) => (
              <li key={index}>
                <span class="number">{index}</span>: <strong>{reason}</strong> {message}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

const attemptColumns = [{ id: "Attempt" }, { id: "Ended" }, { id: "Duration" }, { id: "Why" }];

/** Attempts that failed, the newest first. */
function Earlier({ attempts }: { readonly attempts: NonNullable<StepView["earlier"]> }) {
  if (attempts.length === 0) return null;
  return (
    <>
      <h3>Earlier attempts</h3>
      <table class="table is-auto">
        <TableHead columns={attemptColumns} />
        <tbody>
          {attempts.toReversed().map(({ attempt, startedAt, finishedAt, reason, message }) => (
            <tr key={attempt}>
              <td class="number">{attempt}</td>
              <td class="cell">
                <Time at={finishedAt} />
              </td>
              <td class="cell">{finishedAt === undefined ? "-" : <Span from={startedAt} to={finishedAt} />}</td>
              <td>
                <strong>{reason}</strong> {message}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function StepData({ model, step }: { readonly model: RunModel; readonly step: StepView | undefined }) {
  if (step === undefined) return <p class="muted">Select a step to see its inputs and outputs.</p>;
  const traits = model.graph.value.nodes.find(({ id }) => id === step.id);
  const isEmpty = step.outputs === undefined && step.artifacts.length === 0 && traits?.takes === undefined;
  return (
    <>
      {isEmpty && <p class="muted">{step.name} has no inputs from other steps, and has left no outputs or files.</p>}
      {traits?.takes !== undefined && (
        <>
          <h3>Takes</h3>
          <p>{traits.takes}</p>
        </>
      )}
      {step.outputs !== undefined && (
        <>
          <h3>Outputs</h3>
          <pre class="text" tabIndex={0}>
            {JSON.stringify(step.outputs, null, 2)}
          </pre>
        </>
      )}
      {step.artifacts.length > 0 && (
        <>
          <h3>Files</h3>
          <ul class="plain">
            {step.artifacts.map(({ name, sizeBytes, archive }) => (
              <li key={name}>
                <code>{name}</code>{" "}
                <span class="muted">
                  {sizeBytes === undefined ? "" : `${sizeBytes.toLocaleString("en")} bytes`} {archive ?? ""}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Yaml({ object }: { readonly object: ObjectRef }) {
  const [answer, again] = useAnswer((signal) => objectYaml(object, signal));
  if (answer.is === "loading") return <Loading what={textOfRef(object)} />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  return (
    <pre class="text" tabIndex={0}>
      {answer.value}
    </pre>
  );
}
