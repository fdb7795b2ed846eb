import { type Instant, type Millis, parseInstant } from "#lib/base/index.ts";
import { isTerminal, settledItems } from "#engine/index.ts";
import { type ApiClient, ensureDeleted } from "#kernel/kit/index.ts";
import { Job, keyOf, type Stored } from "#kernel/model/index.ts";
import type { ExpiringStep } from "../compile/expiring.ts";
import { isChildOfStep, labels } from "../child-names.ts";
import { conditionsOf } from "../completion.ts";
import { isFinished, type ItemsStatus, type StepStatus, Workflow } from "../kinds.ts";
import { owesNews } from "../notify/owed.ts";
import { specOf } from "../spec-of.ts";
import { statusOf } from "./attempts.ts";
import type { Pass } from "./pass.ts";

// Time to live of workflows and their Jobs, counted from the status, so that a restart does not extend it. Deletions
// name the uid, which spares a recreated object.

function remaining(since: string | undefined, seconds: number, now: Instant): Millis {
  const at = parseInstant(since ?? "");
  return at === undefined ? 0 : at + seconds * 1000 - now;
}

/**
 * Deletes an expired workflow with its children. Returns the remaining time; undefined if it has no time to live,
 * belongs to another workflow, or is gone.
 */
export async function expireWorkflow(
  client: ApiClient,
  workflow: Stored<Workflow>,
  now: Instant,
  signal: AbortSignal,
): Promise<Millis | undefined> {
  const { ttlSecondsAfterFinished } = specOf(workflow);
  if (ttlSecondsAfterFinished === undefined || !isFinished(workflow)) return undefined;
  // Its parent may not have seen the outcome.
  if (isChildOfStep(workflow)) return undefined;
  // Notifications are owed for an hour at most; the write that ends them triggers a pass.
  if (owesNews(workflow.status ?? {})) return undefined;
  const left = remaining(workflow.status?.completionTime, ttlSecondsAfterFinished, now);
  if (left > 0) return left;
  await ensureDeleted(client, Workflow, workflow, { propagationPolicy: "Background", signal });
  return undefined;
}

/**
 * Deletes expired Jobs of steps. The time counts from when their outcome was stored, so the Job's own TTL cannot be
 * used. Returns when the next one is due.
 */
export async function expireChildren(pass: Pass, steps: readonly ExpiringStep[]): Promise<Millis | undefined> {
  const { client, workflow, now, signal } = pass;
  let next: Millis | undefined;
  for (const { key, seconds } of steps) {
    const status = statusOf(workflow, key) ?? {};
    const finished = status.items === undefined ? jobOfStep(pass, status) : jobsOfItems(pass, key, status.items);
    for (const { job, at } of finished) {
      if (job.metadata.deletionTimestamp !== undefined) continue;
      const left = remaining(at, seconds, now);
      if (left <= 0) await ensureDeleted(client, Job, job, { propagationPolicy: "Background", signal });
      else next = Math.min(next ?? left, left);
    }
  }
  return next;
}

interface FinishedJob {
  readonly job: Stored;
  readonly at: string | undefined;
}

function jobOfStep({ jobs, workflow }: Pass, { phase, finishTime, reference }: StepStatus): readonly FinishedJob[] {
  if (phase === undefined || !isTerminal(phase)) return [];
  const { namespace } = workflow.metadata;
  const job = jobs.get(keyOf({ name: reference?.name ?? "", ...(namespace === undefined ? {} : { namespace }) }));
  return job === undefined || job.metadata.uid !== reference?.uid ? [] : [{ job, at: finishTime }];
}

/** Jobs of settled items. The status has no times of items, so the end of the Job counts. */
function jobsOfItems({ kinds, workflow }: Pass, key: string, items: ItemsStatus): readonly FinishedJob[] {
  const isSettled = settledItems(items);
  return kinds.controlledBy(workflow).flatMap((job) => {
    const found = job.metadata.labels ?? {};
    const isOfStep = job.kind === Job.kind && found[labels.step] === key;
    const at = isOfStep && isSettled(Number(found[labels.item])) ? endOfJob(job) : undefined;
    return at === undefined ? [] : [{ job, at }];
  });
}

const endOfJob = (job: Stored): string | undefined =>
  conditionsOf(job["status"]).find(
    ({ type, status }) => status === "True" && (type === "Complete" || type === "Failed"),
  )?.lastTransitionTime;
