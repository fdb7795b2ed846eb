import { formatTime, parseInstant } from "#lib/base/index.ts";
import { addFinalizer, getOrUndefined, type Reconciler } from "#kernel/kit/index.ts";
import { distinctWriters, keyOf, type Writer } from "#kernel/model/index.ts";
import { type App, withSubSteps } from "./app.ts";
import { actingClient, limitedClient } from "./delivery/rights.ts";
import { isAudited, workflowAccount } from "./insights/security.ts";
import { remembered } from "./definitions/remembered.ts";
import { Application, type ApplicationStatus } from "./kinds.ts";
import { annotation, trackerFinalizer } from "./labels.ts";
import { notices } from "./notices.ts";
import { parseApp, unappliedComponents } from "./parse.ts";
import { actingFor } from "./reconcile/acting.ts";
import { notReady, pending, succeeded, withoutConditions, withPhase } from "./reconcile/conditions.ts";
import { deleteStage } from "./reconcile/delete-stage.ts";
import { finishedStage } from "./reconcile/finished-stage.ts";
import { operationStage } from "./reconcile/operations.ts";
import { type Parts, type Pass, sooner, type Tools, type Wake } from "./reconcile/parts.ts";
import { prepare, type Prepared } from "./reconcile/prepare.ts";
import { decideRestart } from "./reconcile/restart.ts";
import { decideRollout, inUseOf } from "./reconcile/rollout-link.ts";
import { runStage, toolsOf } from "./reconcile/run-stage.ts";
import { resyncOf } from "./reconcile/settings.ts";
import { StatusStore } from "./reconcile/status-store.ts";
import { allObjects, renderAll, type RenderedApp } from "./render/render-all.ts";
import { ensureRevision, recordRun, writeRenderedResources } from "./revision/store.ts";
import { editsOf } from "./workflow/commands.ts";

// A pass over an application, in the order that the original promises: components are rendered, then policies, then
// the revision is stored, and only then a step runs. Everything that must survive a crash is stored before the next
// stage, so the next pass finds the same work.

const pauseKey = "controller.core.oam.dev/pause";

/** After a failure that is not retried by changes alone. */
const later: Wake = { after: 15_000 };

export function applicationReconciler(parts: Parts): Reconciler {
  return {
    async reconcile({ namespace = "", name }, { signal, log }) {
      const key = keyOf({ namespace, name });
      const isWoken = parts.takeWoken(key);
      const application = await getOrUndefined<Application>(
        parts.client,
        { type: Application, namespace, name },
        signal,
      );
      if (application === undefined) {
        parts.forget(key);
        return undefined;
      }
      const { client, record, written } = parts;
      const store = new StatusStore(application, { client, record, written, signal });
      const { after } = await passOver({ ...parts, key, isWoken, store, signal, log });
      return after === undefined ? undefined : { requeueAfter: after };
    },
  };
}

async function passOver(pass: Pass): Promise<Wake> {
  const { store } = pass;
  if (store.application.metadata.deletionTimestamp !== undefined) return await deleteStage(pass);
  store.replace(await addFinalizer<Application>(pass.client, Application, store.application, trackerFinalizer));
  const restart = await restartStage(pass);
  if (store.application.metadata.annotations?.[pauseKey] === "true") return {};
  const early = await preRenderStage(pass);
  if (early !== undefined) return early;
  const prepared = await prepare(pass);
  if (!prepared.ok) return await refuse(pass, prepared.error);
  return sooner(restart, await deliver(pass, prepared.value));
}

/** The spec or a definition must change, which starts another pass. */
async function refuse(pass: Pass, problem: string): Promise<Wake> {
  const draft = parseApp(pass.store.application);
  if (await operationStage(pass, draft.workflow)) return { after: 0 };
  const now = pass.clock.now();
  const observedGeneration = pass.store.application.metadata.generation ?? 0;
  await pass.store.change((status) =>
    notReady({ ...withPhase(status, "rendering"), observedGeneration }, "Parsed", problem, now),
  );
  return {};
}

/** See `decideRestart`. Answers when the next restart is due. */
async function restartStage(pass: Pass): Promise<Wake> {
  const { store, clock, client, signal } = pass;
  const decide = () =>
    decideRestart(
      {
        annotation: store.application.metadata.annotations?.[annotation.restartWorkflow],
        scheduledAt: store.status.workflowRestartScheduledAt,
        isFinished: store.status.workflow?.finished === true,
        endedAt: parseInstant(store.status.workflow?.endTime),
      },
      clock.now(),
    );
  let decision = decide();
  if (decision.unreadable !== undefined)
    pass.recordOnce(store.application, notices.restartUnreadable(decision.unreadable));
  if (decision.removesAnnotation) {
    await store.change((status) => scheduled(status, decision.scheduledAt));
    const { name, namespace = "", resourceVersion } = store.application.metadata;
    const body = { metadata: { resourceVersion, annotations: { [annotation.restartWorkflow]: null } } };
    const ref = { type: Application, namespace, name };
    store.replace(await client.patch<Application>(ref, { type: "merge", body }, { signal }));
    decision = decide();
  }
  await store.change((status) => {
    const next = scheduled(status, decision.scheduledAt);
    if (!decision.restarts) return next;
    const { workflow: _old, ...rest } = next;
    return rest;
  });
  return decision.wakeAt === undefined ? {} : { after: Math.max(1, decision.wakeAt - clock.now()) };
}

function scheduled(status: ApplicationStatus, at: string | undefined): ApplicationStatus {
  if (status.workflowRestartScheduledAt === at) return status;
  const { workflowRestartScheduledAt: _before, ...rest } = status;
  return at === undefined ? rest : { ...rest, workflowRestartScheduledAt: at };
}

/** Steps that run before the application is read. Undefined once they have all succeeded. */
async function preRenderStage(pass: Pass): Promise<Wake | undefined> {
  const { store } = pass;
  const definitions = remembered(pass.definitions);
  const app = parseApp(store.application);
  const early = app.workflow.steps.filter(({ stage }) => stage === "pre-render");
  if (early.length === 0) return undefined;
  const { generation = 0 } = store.application.metadata;
  const entries = store.status.workflow?.steps ?? [];
  const isSettled = early.every(({ name }) =>
    entries.some((step) => step.name === name && (step.phase === "succeeded" || step.phase === "skipped")),
  );
  // What steps wrote back themselves changes the generation while they are still running.
  const isEdited = isSettled && store.status.observedGeneration !== generation;
  if (isSettled && !isEdited) return undefined;
  await store.change((status) => {
    const begun = withPhase({ ...status, observedGeneration: generation }, "rendering");
    if (!isEdited && status.workflow?.startTime !== undefined) return begun;
    const { workflow, preRendered: _overlay, ...rest } = begun;
    return isEdited || workflow === undefined ? rest : { ...rest, workflow };
  });
  if (await operationStage(pass, app.workflow)) return { after: 0 };
  const writers = await writersOfTypes({ ...pass, definitions }, app);
  const acting = await actingClient(pass.actors, store.application, writers, pass.signal);
  if (!acting.ok) return await refuseActing(pass, acting.error);
  const tools = toolsOf(pass, { app, definitions, revisionHash: "", acting: acting.value });
  const result = await runStage(pass, tools, { stage: "pre-render", isWoken: pass.isWoken });
  if (!result.isDone) return result.requeueAfter === undefined ? {} : { after: result.requeueAfter };
  return result.status.finished === true ? {} : undefined;
}

/** Who wrote the definitions of the steps. */
async function writersOfTypes({ definitions }: Pass, { workflow, identity }: App): Promise<readonly Writer[]> {
  const writers: Writer[] = [];
  for (const { type } of withSubSteps(workflow.steps)) {
    const found = await definitions.find("workflow-step", type, identity.namespace);
    writers.push(...(found?.writers ?? []));
  }
  return distinctWriters(writers);
}

/** Renders, records the revision, and moves its workflow on. */
async function deliver(pass: Pass, prepared: Prepared): Promise<Wake> {
  const { store } = pass;
  const { app, choice, definitions, revisions } = prepared;
  const isSameRevision = store.status.latestRevision?.name === choice.name;
  const noted = isSameRevision ? (store.status.actsFor ?? []) : [];
  const status = actingFor(store.status, [...noted, ...prepared.writers]);
  const { application } = store;
  const acting = await actingClient(pass.actors, application, status.actsFor ?? [], pass.signal);
  if (!acting.ok) return await refuseActing(pass, acting.error);
  const parts = { app, definitions, revisionHash: choice.hash, acting: acting.value };
  let tools = toolsOf(pass, parts);
  if (await operationStage(pass, app.workflow, decideRollout(pass))) return { after: 0 };
  const rendered = await renderAll(tools.delivery.renderParts, await tools.delivery.contextOf());
  if (!rendered.ok) return await refuseRendering(pass, rendered.error.stage, rendered.error.problems.join("; "));
  const revision = await recordRevision(pass, prepared, rendered.value, status);
  if (!(await policyStage(pass, tools, rendered.value))) return later;
  const isOver = store.status.workflow?.finished === true;
  const resources = { resources: choice.name, isWoken: pass.isWoken };
  const account = workflowAccount(app);
  if (!isOver && account !== undefined) {
    const limited = limitedClient(pass.actors, application, status.actsFor ?? [], account);
    if (!limited.ok) return await refuseActing(pass, limited.error);
    tools = toolsOf(pass, { ...parts, acting: limited.value });
  }
  if (!isOver && isAudited(app)) recordEdits(pass);
  const result = isOver ? undefined : await runStage(pass, tools, resources);
  // Trackers are read anew, because the steps have written them.
  if (!isOver && account !== undefined) tools = toolsOf(pass, parts);
  await followTracked(pass, tools);
  if (store.status.workflow?.finished !== true) {
    const resync = { after: resyncOf(store.application, pass.settings) };
    return sooner(result?.requeueAfter === undefined ? undefined : { after: result.requeueAfter }, resync);
  }
  const inUse = await inUseOf(pass, application);
  return await finishedStage(pass, tools, { revision, revisions: [...revisions, revision], ...inUse });
}

/** Commands that people gave by editing the status. */
function recordEdits({ store, record }: Pass): void {
  for (const { kind } of editsOf(store.status.workflow)) record(store.application, notices.operation(kind));
}

async function followTracked(pass: Pass, { delivery }: Tools): Promise<void> {
  const trackers = await delivery.trackers.current();
  await pass.follow(
    pass.store.application,
    trackers.flatMap(({ objects }) => objects),
  );
}

/** A right may be granted without a change of the application. */
async function refuseActing(pass: Pass, problem: string): Promise<Wake> {
  const after = resyncOf(pass.store.application, pass.settings);
  return sooner(await refuse(pass, problem), { after });
}

async function refuseRendering(pass: Pass, stage: "Render" | "Policy", problem: string): Promise<Wake> {
  const now = pass.clock.now();
  const phase = stage === "Render" ? "rendering" : "generatingPolicy";
  const observedGeneration = pass.store.application.metadata.generation ?? 0;
  await pass.store.change((status) => {
    const parsed = succeeded({ ...withPhase(status, phase), observedGeneration }, "Parsed", now);
    const known = stage === "Policy" ? succeeded(parsed, "Render", now) : parsed;
    return notReady(known, stage, problem, now);
  });
  return later;
}

/** The revision and its objects are durable before a step runs. A new revision starts the workflow anew. */
async function recordRevision(
  pass: Pass,
  { choice, app, revisions }: Prepared,
  rendered: RenderedApp,
  status: ApplicationStatus,
) {
  const { client, clock, signal, store } = pass;
  const parts = { client, clock, signal };
  const objects = allObjects(rendered);
  const revision = await ensureRevision(parts, store.application, choice, objects);
  if (status.workflow?.finished !== true || status.latestRevision?.name !== choice.name)
    await writeRenderedResources(parts, revision, objects);
  const wanted = app.identity.publishVersion ?? choice.name;
  const isNew = status.workflow?.appRevision !== wanted;
  if (isNew) await recordInterrupted(pass, revisions, status);
  const now = clock.now();
  const base: ApplicationStatus = {
    ...(isNew ? begun(status, app, wanted) : status),
    observedGeneration: store.application.metadata.generation ?? 0,
    latestRevision: { name: choice.name, revision: choice.number, revisionHash: choice.hash },
  };
  const good = succeeded(succeeded(succeeded(base, "Parsed", now), "Render", now), "Revision", now);
  await store.put(isNew ? pending(withPhase(good, "runningWorkflow"), "Ready", "Creating", now) : good);
  const unapplied = isNew ? unappliedComponents(app) : [];
  if (unapplied.length > 0) pass.record(store.application, notices.unmentioned(unapplied));
  return revision;
}

/** A run that another revision ends is kept in its own revision. */
async function recordInterrupted(pass: Pass, revisions: Prepared["revisions"], status: ApplicationStatus) {
  const { workflow, latestRevision } = status;
  if (workflow?.startTime === undefined || workflow.finished === true || workflow.appRevision === undefined) return;
  const { client, clock, signal } = pass;
  const revision = revisions.find(({ metadata }) => metadata.name === latestRevision?.name);
  if (revision === undefined) return;
  const ended = { ...workflow, terminated: true, finished: true, suspend: false, endTime: formatTime(clock.now()) };
  await recordRun({ client, clock, signal }, revision, {
    succeeded: false,
    workflow: ended,
  });
}

/** Steps before rendering belong to the run that they made possible. */
function begun(status: ApplicationStatus, { workflow }: App, appRevision: string): ApplicationStatus {
  const { services: _services, appliedResources: _applied, workflow: old, ...rest } = status;
  const early = new Set(workflow.steps.flatMap(({ stage, name }) => (stage === "pre-render" ? [name] : [])));
  const isOfRun = old?.appRevision === undefined && (old?.steps ?? []).every(({ name = "" }) => early.has(name));
  const kept = old?.startTime !== undefined && early.size > 0;
  const steps = (old?.steps ?? []).filter(({ name = "" }) => early.has(name));
  const modes = `${workflow.modes.steps}-${workflow.modes.subSteps}`;
  const own = kept && old !== undefined ? (isOfRun ? old : { startTime: old.startTime, steps }) : {};
  return withoutConditions({ ...rest, workflow: { ...own, appRevision, mode: modes } }, ["Policy", "Workflow"]);
}

/** Applies the objects of policies before the first step. False if it failed. */
async function policyStage(pass: Pass, { delivery }: Tools, { policies }: RenderedApp): Promise<boolean> {
  const { store, clock } = pass;
  const isDone = store.status.conditions?.some(({ type, status }) => type === "Policy" && status === "True") === true;
  if (isDone) return true;
  const now = clock.now();
  if (policies.length > 0) {
    const applied = await delivery.apply(policies, { cluster: "local" }, "policy");
    if (!applied.ok) {
      await store.change((status) => notReady(withPhase(status, "generatingPolicy"), "Policy", applied.error, now));
      return false;
    }
  }
  await store.change((status) => withPhase(succeeded(status, "Policy", now), "runningWorkflow"));
  return true;
}
