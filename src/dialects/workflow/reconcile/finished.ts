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

// Time to live, of workflows and of their Jobs. It counts from what the status says, so that a restart does not begin it anew, and a
// deletion names the uid that was judged: an object created again under the name is left alone.

/** Time from `since` until `seconds` have passed; negative or 0 when they have. */
function remaining(since: string | undefined, seconds: number, now: Instant): Millis {
  const at = parseInstant(since ?? "");
  return at === undefined ? 0 : at + seconds * 1000 - now;
}

/**
 * Deletes a finished workflow, with its children, when its time to live is over. Answers how long that is from now;
 * undefined when it has none, goes with another one, or is gone.
 */
export async function expireWorkflow(
  client: ApiClient,
  workflow: Stored<Workflow>,
  now: Instant,
  signal: AbortSignal,
): Promise<Millis | undefined> {
  const { ttlSecondsAfterFinished } = specOf(workflow);
  if (ttlSecondsAfterFinished === undefined || !isFinished(workflow)) return undefined;
  // Its outcome could be gone before its step has seen it.
  if (isChildOfStep(workflow)) return undefined;
  // Its end is still to be told, for an hour at most; the write that says so asks for a pass.
  if (owesNews(workflow.status ?? {})) return undefined;
  const left = remaining(workflow.status?.completionTime, ttlSecondsAfterFinished, now);
  if (left > 0) return left;
  await ensureDeleted(client, Workflow, workflow, { propagationPolicy: "Background", signal });
  return undefined;
}

/**
 * Deletes finished Jobs whose template has a time to live. It counts from the moment their outcome was stored, which is why it
 * is not left to the Job itself. Answers when the next one is due.
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

/** A Job whose outcome is stored, and since when. */
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

/**
 * The Jobs of items that are settled. A status has no times for items: theirs counts from the end of the Job, which is a moment
 * before it was stored.
 */
function jobsOfItems({ kinds, workflow }: Pass, key: string, items: ItemsStatus): readonly FinishedJob[] {
  const isSettled = settledItems(items);
  return kinds.controlledBy(workflow).flatMap((job) => {
    const found = job.metadata.labels ?? {};
    const isOfStep = job.kind === Job.kind && found[labels.step] === key;
    const at = isOfStep && isSettled(Number(found[labels.item])) ? endOfJob(job) : undefined;
    return at === undefined ? [] : [{ job, at }];
  });
}

/** When its condition said so; undefined for one that has not ended. */
const endOfJob = (job: Stored): string | undefined =>
  conditionsOf(job["status"]).find(
    ({ type, status }) => status === "True" && (type === "Complete" || type === "Failed"),
  )?.lastTransitionTime;
