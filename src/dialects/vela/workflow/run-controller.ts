import { createHash } from "node:crypto";
import { isJsonObject, jsonEquals, type Millis, textAt } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { actionsFor, answer, openActions } from "#kernel/dialect/index.ts";
import {
  type ApiClient,
  getOrUndefined,
  type Reconciler,
  type ReconcileContext,
  type ReconcileResult,
  writeOwnedConfigMap,
} from "#kernel/kit/index.ts";
import {
  asJson,
  ConfigMap,
  distinctWriters,
  keyOf,
  type KubeObject,
  type Notice,
  type Stored,
  warning,
  writersOf,
} from "#kernel/model/index.ts";
import { type App, withSubSteps } from "../app.ts";
import { notFoundMessage } from "../definitions/find.ts";
import type { Definition, Definitions } from "../definitions/definition.ts";
import { remembered } from "../definitions/remembered.ts";
import type { Actors } from "../delivery/rights.ts";
import { Workflow, WorkflowRun } from "../kinds.ts";
import { groupType, parseRun } from "../parse.ts";
import { commandOf } from "../reconcile/operations.ts";
import type { Services } from "../reconcile/parts.ts";
import { stepParts, toolsFor } from "../reconcile/run-stage.ts";
import { applyCommand } from "./commands.ts";
import { nativeSteps } from "./native.ts";
import { placesOf } from "./plan.ts";
import { runPass } from "./pass.ts";
import type { WorkflowStatus } from "./status.ts";

// A WorkflowRun is a workflow without an application. What it refers to is kept beside it when it starts, so that it
// goes on when its Workflow or a definition is deleted; newer definitions are used as long as they exist.

export interface RunControllerParts extends Omit<Services, "charts" | "answers" | "actors"> {
  /** With the rights of the run's writers, and of those who wrote what it refers to. */
  readonly actors: Pick<Actors, "clientFor">;
  readonly record: (run: Stored<WorkflowRun>, notice: Notice) => void;
  /** After each write: the statuses before and after. */
  readonly written?: (run: Stored<WorkflowRun>, before: WorkflowStatus) => void;
  readonly takeWoken?: (key: string) => boolean;
  readonly print?: (run: Stored<WorkflowRun>, step: string, line: string) => void;
}

/** Until what it refers to exists. */
const lookAgain: Millis = 10_000;
/** Definitions of a very large workflow are not kept. */
const snapshotLimit = 900 * 1024;

interface Snapshot {
  readonly workflow: Workflow | undefined;
  readonly definitions: readonly Definition[];
}

export const runReconciler = (parts: RunControllerParts): Reconciler => ({
  async reconcile({ namespace = "default", name }, context) {
    const run = await getOrUndefined<WorkflowRun>(parts.client, { type: WorkflowRun, namespace, name }, context.signal);
    if (run === undefined || run.metadata.deletionTimestamp !== undefined) return undefined;
    return reconcileRun(new RunStore(parts, run, context.signal), parts, context);
  },
});

/** The run, and its status as last written. */
class RunStore {
  readonly #parts: RunControllerParts;
  readonly #signal: AbortSignal;
  run: Stored<WorkflowRun>;
  /** Of the snapshot in use. */
  digest: string | undefined;

  constructor(parts: RunControllerParts, run: Stored<WorkflowRun>, signal: AbortSignal) {
    this.#parts = parts;
    this.run = run;
    this.#signal = signal;
  }

  get status(): WorkflowStatus {
    return this.run.status ?? {};
  }

  async put(given: WorkflowStatus): Promise<void> {
    const before = this.status;
    const status = this.digest === undefined ? given : { ...given, snapshot: this.digest };
    if (jsonEquals(status, before)) return;
    const next = { ...this.run, status: status as NonNullable<WorkflowRun["status"]> };
    this.run = await this.#parts.client.updateStatus<WorkflowRun>(WorkflowRun, next, { signal: this.#signal });
    this.#parts.written?.(this.run, before);
  }
}

async function reconcileRun(
  store: RunStore,
  parts: RunControllerParts,
  { signal, log }: ReconcileContext,
): Promise<ReconcileResult | undefined> {
  const snapshot = await openSnapshot(store, parts, signal);
  if (typeof snapshot === "string") {
    await initializing(store, parts, snapshot);
    return { requeueAfter: lookAgain };
  }
  const app = parseRun(store.run, snapshot.workflow);
  await obey(store, parts, app, signal);
  if (store.status.finished === true) return undefined;
  const definitions = remembered(withFallback(parts.definitions, snapshot.definitions));
  const acting = await actingFor(store.run, app, snapshot, definitions, parts);
  const services = { ...parts, log, signal };
  const tools = toolsFor(services, { app, definitions, revisionHash: "", acting });
  const { requeueAfter } = await runPass(
    stepParts(services, tools, store.run, (step, line) => parts.print?.(store.run, step, line)),
    {
      subject: { app, owner: store.run },
      status: store.status,
      isWoken: parts.takeWoken?.(keyOf(store.run.metadata)) === true,
      store: (status) => store.put({ ...status, mode: app.workflow.modes } as WorkflowStatus),
    },
  );
  return requeueAfter === undefined ? undefined : { requeueAfter };
}

/** Everybody who wrote the run, its Workflow or a definition of its steps counts. */
async function actingFor(
  run: Stored<WorkflowRun>,
  { workflow: { steps }, identity }: App,
  { workflow }: Snapshot,
  definitions: Definitions,
  { actors }: RunControllerParts,
): Promise<ApiClient> {
  const writers = [...writersOf(run), ...(workflow === undefined ? [] : writersOf(workflow))];
  for (const { type } of withSubSteps(steps)) {
    const found = await definitions.find("workflow-step", type, identity.namespace);
    writers.push(...(found?.writers ?? []));
  }
  const actsFor = distinctWriters(writers).map(({ user, groups }) => ({ user, groups: [...groups] }));
  return actors.clientFor({ ...run, status: { ...run.status, actsFor } });
}

async function initializing(store: RunStore, parts: RunControllerParts, message: string): Promise<void> {
  if (store.status.message !== message) parts.record(store.run, warning("Generate", message, "Generate"));
  await store.put({ ...store.status, status: "initializing", message, finished: false });
}

/** Carries out the open RunActions. */
async function obey(store: RunStore, parts: RunControllerParts, app: App, signal: AbortSignal): Promise<void> {
  for (const action of openActions(actionsFor(parts.actions, WorkflowRun, keyOf(store.run.metadata)))) {
    const command = commandOf(action.spec);
    const refusal = command === undefined ? `${action.spec.action} is not possible for a WorkflowRun` : undefined;
    const changed = command === undefined ? undefined : applyCommand(store.status, command, app.workflow);
    const message = refusal ?? (changed?.ok === false ? changed.error : undefined);
    if (changed?.ok === true) await store.put(changed.value ?? {});
    const verdict = {
      phase: message === undefined ? "Done" : "Refused",
      message: message ?? `${action.spec.action} is done`,
    } as const;
    await answer(parts.client, action, verdict, parts.clock.now(), signal);
  }
}

const snapshotName = (run: Stored<WorkflowRun>): string => `workflow-${run.metadata.name}-snapshot`;

/** What the run was started with; a text says why it cannot start. */
async function openSnapshot(
  store: RunStore,
  parts: RunControllerParts,
  signal: AbortSignal,
): Promise<Snapshot | string> {
  const { run, status } = store;
  const { client, clock } = parts;
  const namespace = run.metadata.namespace ?? "default";
  const ref = { type: ConfigMap, namespace, name: snapshotName(run) };
  if (status.startTime !== undefined) {
    const stored = await getOrUndefined(client, ref, signal);
    if (stored !== undefined) {
      const text = snapshotIn(stored);
      store.digest = run.status?.snapshot;
      if (digestOf(text) === store.digest) return readSnapshot(text);
      return `ConfigMap ${namespace}/${ref.name} was changed since the run started; create the run again`;
    }
  }
  const snapshot = await makeSnapshot(run, namespace, parts, signal);
  if (typeof snapshot === "string") return snapshot;
  const text = snapshotText(snapshot);
  await writeOwnedConfigMap(client, run, { name: ref.name, data: { snapshot: text } }, { clock, signal });
  store.digest = digestOf(text);
  return snapshot;
}

/** In the status, which only controllers write, so that nobody else decides what runs. */
const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");

function snapshotText(snapshot: Snapshot): string {
  const text = JSON.stringify(snapshot);
  return text.length <= snapshotLimit ? text : JSON.stringify({ ...snapshot, definitions: [] });
}

function snapshotIn(stored: KubeObject): string {
  return textAt(asJson(stored), "data", "snapshot") ?? "";
}

function readSnapshot(text: string): Snapshot {
  const parsed = parseJson(text);
  // Its digest shows that this controller wrote it.
  return { definitions: [], ...(parsed.ok && isJsonObject(parsed.value) ? parsed.value : {}) } as unknown as Snapshot;
}

async function makeSnapshot(
  run: Stored<WorkflowRun>,
  namespace: string,
  { client, definitions, settings }: RunControllerParts,
  signal: AbortSignal,
): Promise<Snapshot | string> {
  const { workflowRef, workflowSpec } = run.spec;
  const refers = workflowSpec === undefined && workflowRef !== undefined;
  const workflow = refers
    ? await getOrUndefined<Workflow>(client, { type: Workflow, namespace, name: workflowRef }, signal)
    : undefined;
  if (refers && workflow === undefined) return `Workflow "${workflowRef}" not found in ${namespace}`;
  const used = new Map<string, Definition>();
  for (const { step } of placesOf(parseRun(run, workflow).workflow)) {
    if (step.type === groupType || nativeSteps[step.type] !== undefined || used.has(step.type)) continue;
    const found = await definitions.find("workflow-step", step.type, namespace);
    const sought = { type: "workflow-step", name: step.type, namespace } as const;
    const { systemDefinitionNamespace: systemNamespace } = settings;
    if (found === undefined) return await notFoundMessage(definitions, { ...sought, systemNamespace });
    const { stored: _stored, ...rest } = found;
    used.set(step.type, rest);
  }
  return { workflow, definitions: [...used.entries()].map(([name, definition]) => ({ ...definition, name })) };
}

/** The present definitions, else those of the start. */
const withFallback = (live: Definitions, kept: readonly Definition[]): Definitions => ({
  find: async (type, name, namespace) =>
    (await live.find(type, name, namespace)) ??
    kept.find((definition) => definition.type === type && definition.name === name),
  names: (type, namespace) => live.names(type, namespace),
});
