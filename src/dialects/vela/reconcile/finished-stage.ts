import { type JsonObject, jsonEquals, objectAt } from "#lib/base/index.ts";
import { asJson, type Stored } from "#kernel/model/index.ts";
import { collectGarbage } from "../delivery/garbage.ts";
import { keepState } from "../delivery/keep-state.ts";
import type { ApplicationStatus } from "../kinds.ts";
import { notices } from "../notices.ts";
import { garbageSettings } from "../policies/retention.ts";
import { pruneRevisions, readRenderedResources, recordRun } from "../revision/store.ts";
import { failed, succeeded, withPhase } from "./conditions.ts";
import { type InUse, type Pass, sooner, type Tools, type Wake } from "./parts.ts";
import { withServices } from "./run-stage.ts";
import { resyncOf } from "./settings.ts";

/** While outdated objects go, or an application is not healthy yet, in case events are lost. */
const soon = { after: 5_000 } as const;

export interface Finished extends InUse {
  readonly revision: Stored;
  readonly revisions: readonly Stored[];
}

/** After the workflow: its record, outdated objects and revisions, drifted objects, health. */
export async function finishedStage(pass: Pass, tools: Tools, finished: Finished): Promise<Wake> {
  const { store, client, clock, signal } = pass;
  const { app } = tools;
  const { workflow } = store.status;
  const isGood = workflow?.status === "succeeded" || workflow?.status === "skipped";
  await recordEnd(pass, finished.revision, isGood);
  const settings = garbageSettings(app);
  let wake: Wake = {};
  if (isGood || settings.continuesOnFailure) wake = await collect(pass, tools, finished);
  if (isGood) await keep(pass, tools, finished);
  const inUse = new Set([app.identity.revision, ...(finished.revisionsInUse ?? [])]);
  const limit = settings.revisionLimit ?? pass.settings.revisionLimit;
  await pruneRevisions({ client, clock, signal }, finished.revisions, inUse, limit);
  await store.put(await judged(pass, tools, isGood));
  const isSick = store.status.status === "unhealthy";
  return sooner(wake, { after: resyncOf(store.application, pass.settings) }, isSick ? soon : undefined);
}

/** The final copy of the run in its revision. Later edits of the finished status are undone by it. */
async function recordEnd(pass: Pass, revision: Stored, isGood: boolean): Promise<void> {
  const { client, clock, signal, store } = pass;
  const workflow = store.status.workflow as JsonObject | undefined;
  const known = objectAt(asJson(revision), "status", "workflow");
  const isSameRun = known !== undefined && known["startTime"] === workflow?.["startTime"];
  if (isSameRun && known["finished"] === true && workflow?.["endTime"] === known["endTime"]) {
    if (jsonEquals(known, workflow)) return;
    pass.record(store.application, notices.edited("workflow"));
    return await store.put({ ...store.status, workflow: known });
  }
  await recordRun({ client, clock, signal }, revision, { succeeded: isGood, workflow: workflow ?? {} });
}

async function collect(pass: Pass, { delivery }: Tools, { isInUse }: Finished): Promise<Wake> {
  const { deleted, pending } = await collectGarbage(delivery, isInUse === undefined ? {} : { isInUse });
  if (deleted.length > 0) pass.record(pass.store.application, notices.collected(deleted.length));
  return pending.length > 0 ? soon : {};
}

async function keep(pass: Pass, { delivery }: Tools, { revision, livePaths }: Finished): Promise<void> {
  const { client, signal, store } = pass;
  const trackers = await delivery.trackers.current();
  const hasSecrets = trackers.some(({ objects }) =>
    objects.some(({ kind, key }) => kind === "Secret" && key !== undefined),
  );
  const secrets = hasSecrets ? await readRenderedResources({ client, signal }, revision) : undefined;
  const { problems } = await keepState(delivery, secrets, livePaths);
  if (problems.length > 0) pass.record(store.application, notices.notKept(problems.join("; ")));
}

/** Phase and condition by the health of all services. */
async function judged(pass: Pass, { delivery }: Tools, isGood: boolean): Promise<ApplicationStatus> {
  const { store, clock } = pass;
  const now = clock.now();
  const status = await withServices(store.status, delivery);
  if (!isGood) return status;
  const sick = (status.services ?? []).filter(({ healthy }) => healthy !== true);
  if (sick.length === 0) return succeeded(withPhase(status, "running"), "Ready", now, "ReconcileSuccess");
  const names = sick.map(({ name = "", message = "" }) => `${name}${message === "" ? "" : `: ${message}`}`);
  return failed(withPhase(status, "unhealthy"), "Ready", `not healthy: ${names.join("; ")}`, now);
}
