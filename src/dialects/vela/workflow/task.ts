import {
  defined,
  err,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
  messageOf,
  objectAt,
} from "#lib/base/index.ts";
import type { CueAction, CueTask, TemplateFailure } from "#kernel/template/index.ts";
import type { ActionResult, ActionScope, Provider } from "../ops/provider.ts";
import type { Definition } from "../definitions/definition.ts";
import { notFoundMessage } from "../definitions/find.ts";
import { externalProviders } from "../ops/external.ts";
import { providerOf } from "../ops/find.ts";
import { failureText } from "../render/failure-text.ts";
import { resolveInputs, storeOutputs, withInputs } from "./io.ts";
import { type LedgerScope, once, openExecution } from "./ledger.ts";
import { messages } from "../messages.ts";
import { nativeSteps } from "./native.ts";
import { executionOf, type Prepared, type StepJob, type TaskEnd } from "./job.ts";
import type { StepOutcome } from "./outcome.ts";
import { lastEndOf } from "./state.ts";
import { type ResourceRef, stepReasons } from "./status.ts";
import { StoreFailure } from "./context-store.ts";
import { performHttp } from "#kernel/couriers/index.ts";
import { renderedContext, stepContext } from "./step-context.ts";
import { runTaskObjects } from "./task-object.ts";

// Executes one step once: its template is evaluated from the start, action by action. Everything that must not happen
// twice goes through the ledger.

const mostActions = 1_000;

export async function executeStep(job: StepJob): Promise<StepOutcome> {
  openExecution(ledgerScope(job), lastEndOf(job.entry));
  try {
    const prepared = await prepare(job);
    if ("outcome" in prepared) return prepared.outcome;
    const native = nativeSteps[job.place.step.type];
    const end = native === undefined ? await runTemplate(job, prepared) : await native(job, prepared);
    await noteDebugValue(job, end);
    return withinLimit(job, await finish(job, end));
  } catch (thrown) {
    if (job.parts.signal.aborted || thrown instanceof StoreFailure) return { kind: "interrupted" };
    return { kind: "error", message: job.secrets.mask(`step ${job.place.step.name}: ${messageOf(thrown)}`) };
  }
}

/** What cannot be stored would end every pass before its end is recorded. */
function withinLimit({ store, place }: StepJob, outcome: StepOutcome): StepOutcome {
  const excess = store.excess();
  if (excess === undefined) return outcome;
  store.forgetStep(place.step.name);
  return { kind: "failed", reason: stepReasons.output, message: messages.storeTooLarge(excess.name, excess.bytes) };
}

async function noteDebugValue({ parts, stepId, secrets }: StepJob, { task }: TaskEnd): Promise<void> {
  if (parts.debug === undefined || task === undefined) return;
  const actions = task.done.map(({ path, result = null }) => [path, result]);
  const value = { parameter: task.parameter ?? null, actions: Object.fromEntries(actions) };
  await parts.debug(stepId, secrets.mask(JSON.stringify(value, null, 2)));
}

async function prepare(job: StepJob): Promise<Prepared | { readonly outcome: StepOutcome }> {
  const { parts, subject, store, place } = job;
  const { step, group } = place;
  const context = stepContext(subject, step, job.stepId, group);
  const inputs = await resolveInputs(parts.cue, store, step, context, parts.signal);
  if (!inputs.ok) return { outcome: { kind: "wait", message: messages.pendingOnInput(inputs.missing) } };
  for (const { value, isSensitive } of inputs.values) if (isSensitive) job.secrets.add(value);
  const parameter = withInputs(step.properties, inputs.values);
  if (typeof parameter === "string")
    return { outcome: { kind: "failed", reason: stepReasons.input, message: parameter } };
  return { context, parameter };
}

async function runTemplate(job: StepJob, { context, parameter }: Prepared): Promise<TaskEnd> {
  const { parts, subject, place } = job;
  const { type, name } = place.step;
  const { namespace } = subject.app.identity;
  const definition = await parts.definitions.find("workflow-step", type, namespace);
  if (definition === undefined) {
    const { systemDefinitionNamespace: systemNamespace } = parts.settings;
    const sought = { type: "workflow-step", name: type, namespace, systemNamespace } as const;
    const message = `step ${name}: ${await notFoundMessage(parts.definitions, sought)}`;
    return { outcome: { kind: "error", message } };
  }
  const rendered = await renderedContext(subject, parts.delivery, place.step, definition.template);
  if (typeof rendered === "string") return { outcome: { kind: "error", message: rendered } };
  const { template, imports } = definition;
  const task = {
    text: template,
    parameter,
    context: { ...context, ...rendered },
    done: [],
    ...(imports === undefined ? {} : { packages: imports.sources }),
  };
  return runActions(job, task, definition);
}

/** What actions have told about the step so far. */
interface Said {
  message?: string;
  resourceRef?: ResourceRef;
}

async function runActions(job: StepJob, start: CueTask, { annotations, imports }: Definition): Promise<TaskEnd> {
  const said: Said = {};
  let task = start;
  for (let actions = 0; actions < mostActions; actions++) {
    const state = await job.parts.cue.next(task, job.parts.signal);
    if (!state.ok) return { outcome: templateFailure(job, state.error) };
    const { action, hasActions, objects } = state.value;
    if (action === undefined) {
      if (!hasActions && objects?.output !== undefined)
        return { task, outcome: await runTaskObjects(job, objects, annotations) };
      return { task, outcome: { kind: "succeeded", ...said } };
    }
    const result = await runAction(job, action, { task, said, imports });
    if (result.kind === "continue") {
      if (result.isSensitive === true) job.secrets.add(result.result);
      const done = { path: action.path, ...defined({ result: result.result }) };
      task = { ...task, done: [...task.done, done] };
    } else {
      const { resourceRef } = said;
      const outcome = outcomeOf(job, action, result, said.message);
      return { task, outcome: resourceRef === undefined ? outcome : { ...outcome, resourceRef } };
    }
  }
  return { task, outcome: { kind: "error", message: `step ${job.place.step.name}: more than ${mostActions} actions` } };
}

/** Conflicts are retried, as reads may give other values; what the evaluator had to be stopped for is not. */
function templateFailure({ place, secrets }: StepJob, failure: TemplateFailure): StepOutcome {
  const message = secrets.mask(`step ${place.step.name}: ${failureText(failure)}`);
  switch (failure.kind) {
    case "template":
      return { kind: "error", message };
    case "time":
    case "memory":
      return { kind: "failed", reason: stepReasons.rendering, message };
    case "busy":
    case "closed":
    case "crashed":
      return { kind: "interrupted" };
  }
}

async function runAction(
  job: StepJob,
  action: CueAction,
  { task, said, imports }: { readonly task: CueTask; readonly said: Said; readonly imports: Definition["imports"] },
): Promise<ActionResult> {
  const found = providerOf(
    { ...externalProviders(imports, action), ...job.parts.providers },
    action.provider,
    action.do,
  );
  if (!found.ok) return { kind: "error", message: found.error };
  const value = isJsonObject(action.value) ? action.value : {};
  const [problem] = action.incomplete;
  const mayBeIncomplete = action.do === "wait";
  if (problem !== undefined && !mayBeIncomplete) {
    const path = problem.path === undefined || problem.path === "" ? action.path : problem.path;
    return { kind: "error", message: `${path}: ${problem.message}` };
  }
  const conflicts: string[] = [];
  const scope = scopeOf(job, action, task, said, conflicts);
  const result = await callProvider(found.value, value, scope, action.path);
  const [conflict] = conflicts;
  return conflict === undefined ? result : { kind: "error", message: conflict };
}

async function callProvider(provider: Provider, value: JsonObject, scope: ActionScope, path: string) {
  try {
    return await provider(value, scope);
  } catch (thrown) {
    if (scope.signal.aborted || thrown instanceof StoreFailure) throw thrown;
    const message = `function call error for ${path}: ${messageOf(thrown)}`;
    return { kind: "error", message } as const;
  }
}

const ledgerScope = (job: StepJob): LedgerScope => ({
  store: job.store,
  courier: job.parts.courier,
  step: job.place.step.name,
  stepId: job.stepId,
  runKey: job.runKey,
  execution: executionOf(job),
  isContinued: job.isContinued,
  signal: job.parts.signal,
  settled: job.settledEffect,
});

function scopeOf(job: StepJob, action: CueAction, task: CueTask, said: Said, conflicts: string[]): ActionScope {
  const { parts, subject, store, place, stepId, secrets, entry } = job;
  const refuse = (name: string, by: string) => conflicts.push(messages.outputConflict(name, by));
  const variables = store.variablesOf(place.step.name, refuse);
  return {
    app: subject.app,
    step: place.step,
    stepId,
    path: action.path,
    context: task.context ?? {},
    client: parts.actingClient,
    records: parts.client,
    cue: parts.cue,
    clusters: parts.clusters,
    delivery: parts.delivery,
    variables: {
      ...variables,
      set: (name, value, isSensitive) => variables.set(name, value, isSensitive === true || !secrets.isEmpty),
    },
    notes: store.notesOf(place.step.name),
    execution: executionOf(job),
    clock: parts.clock,
    log: parts.log,
    signal: parts.signal,
    say: (message) => {
      said.message = secrets.mask(message);
    },
    refer: (object) => {
      said.resourceRef = object;
    },
    ...defined({ referred: entry.resourceRef }),
    print: (line) => parts.print?.(stepId, secrets.mask(line)),
    async patched(base) {
      const at = objectAt(action.value, "$params") === undefined ? "patch" : "$params.patch";
      const merged = await parts.cue.patch(task, `${action.path}.${at}`, base, parts.signal);
      return merged.ok ? merged : err(failureText(merged.error));
    },
    noteOverlay: (digest) => parts.noteOverlay?.(digest),
    once: (request, refused) => once(ledgerScope(job), action.path, action.attributes, request, refused),
    ask: async (request) => {
      const { egressDeny: denied } = parts.settings;
      const answer = await performHttp(request, { denied, clock: parts.clock, signal: parts.signal });
      return answer.ok ? { kind: "continue", result: answer.value } : { kind: "error", message: answer.message };
    },
  };
}

function outcomeOf(
  { place, secrets }: StepJob,
  action: CueAction,
  result: Exclude<ActionResult, { kind: "continue" }>,
  said: string | undefined,
): StepOutcome {
  const message = result.message === undefined ? undefined : secrets.mask(result.message);
  const told = message ?? said;
  const explained = told === undefined ? {} : { message: told };
  switch (result.kind) {
    case "wait":
      return { kind: "wait", ...explained };
    case "suspend":
      return { kind: "suspend", ...explained, ...defined({ until: result.until }) };
    case "fail":
      return { kind: "failed", reason: stepReasons.action, message: message ?? "" };
    case "break":
      return { kind: "failed", reason: stepReasons.terminate, message: message ?? "" };
    case "error":
      return { kind: "error", message: `step ${place.step.name}: ${action.path}: ${message ?? "failed"}` };
  }
}

const outputsSince = "outputs-since";

/** Outputs belong to the end of a step: a success waits for them. */
async function finish(job: StepJob, { outcome, task }: TaskEnd): Promise<StepOutcome> {
  const { parts, store, place, secrets } = job;
  if (outcome.kind !== "succeeded") return outcome;
  if (task !== undefined) await noteSensitivePaths(job, task);
  const isSensitive = !secrets.isEmpty;
  const request = {
    cue: parts.cue,
    store,
    step: place.step,
    task,
    isSensitive,
    isComplete: true,
    signal: parts.signal,
  };
  const outputs = await storeOutputs(request);
  if (outputs.kind === "missing") return waitForOutput(job, outputs.message, outputs.output);
  if (outputs.kind === "failed") return { kind: "failed", reason: stepReasons.output, message: outputs.message };
  if (outputs.kind === "error")
    return { kind: "error", message: `step ${place.step.name}: ${secrets.mask(outputs.message)}` };
  if (job.isRead && task !== undefined) {
    const excess = await storeTaskOutput(job, task, isSensitive);
    if (excess !== undefined) return { kind: "failed", reason: stepReasons.output, message: excess };
  }
  return outcome;
}

/** A template with `$sensitivePaths` says which of its values nobody may read. */
async function noteSensitivePaths({ parts, secrets }: StepJob, task: CueTask): Promise<void> {
  if (!task.text.includes("$sensitivePaths")) return;
  const [paths] = await lookUp(parts, task, ["$sensitivePaths"]);
  const names = listAt(paths).filter((path) => typeof path === "string");
  for (const value of await lookUp(parts, task, names)) secrets.add(value);
}

async function lookUp({ cue, signal }: StepJob["parts"], task: CueTask, paths: readonly string[]) {
  const found = await cue.lookup(task, paths, signal);
  return found.ok ? found.value.map(({ value }) => value) : [];
}

function waitForOutput(
  job: StepJob,
  message: string,
  { name, valueFrom }: { name: string; valueFrom: string },
): StepOutcome {
  const { parts, store, place } = job;
  const notes = store.notesOf(place.step.name);
  const now = parts.clock.now();
  const noted = notes.get(outputsSince);
  const since = typeof noted === "number" ? noted : now;
  notes.set(outputsSince, since);
  if (now - since < parts.settings.outputWaitTimeout) return { kind: "wait", message };
  return { kind: "failed", reason: stepReasons.output, message: messages.outputMissing(name, valueFrom) };
}

/** Fields `output` and `outputs` for conditions of other steps, with the result of an action merged into its value. */
async function storeTaskOutput({ parts, store, place }: StepJob, task: CueTask, isSensitive: boolean) {
  const found = await parts.cue.lookup(task, ["output", "outputs"], parts.signal);
  if (!found.ok) return undefined;
  const [output, outputs] = found.value.map(({ value }) => merged(value));
  const shown = defined({ output, outputs });
  if (Object.keys(shown).length === 0) return undefined;
  store.setTaskOutput(place.step.name, shown, isSensitive);
  const excess = store.excess();
  if (excess === undefined) return undefined;
  store.setTaskOutput(place.step.name, {}, isSensitive);
  return messages.storeTooLarge(excess.name, excess.bytes);
}

const merged = (value: JsonValue | undefined): JsonValue | undefined => {
  const returns = objectAt(value, "$returns");
  return returns === undefined || !isJsonObject(value) ? value : { ...value, ...returns };
};
