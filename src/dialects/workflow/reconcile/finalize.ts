import { type Instant, type Millis, messageOf } from "#lib/base/index.ts";
import { isTerminal } from "#engine/index.ts";
import { type ApiClient, ensureDeleted, removeFinalizer } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { labels } from "../child-names.ts";
import { stateOfObject } from "../completion.ts";
import { Workflow } from "../kinds.ts";
import { abandonAnnotation, finalizer, type Notice, notices } from "../messages.ts";
import { statusOf } from "./attempts.ts";
import type { Memory } from "./memory.ts";

// The finalizer holds a deleted workflow until its active children are gone.

/** Waiting children are reported after this, once per process. */
const patience: Millis = 5 * 60_000;
/** In case events of children are lost. */
const pollEvery: Millis = 5_000;
const graceSeconds = 30;

/** `memory.deletingSince` is set by the first look. */
export interface Finalization {
  readonly client: ApiClient;
  readonly workflow: Stored<Workflow>;
  readonly children: readonly Stored[];
  readonly memory: Memory;
  readonly now: Instant;
  readonly signal: AbortSignal;
  readonly record: (notice: Notice) => void;
}

/** Children that cannot be watched may exist; reported once per process. */
export function reportUnseen(memory: Memory, record: (notice: Notice) => void, why: string): void {
  if (memory.reportedCleanup === true) return;
  memory.reportedCleanup = true;
  record(notices.cleanupUnseen(why));
}

/**
 * Ends active children, waits for them, removes the finalizer. Finished children are left to garbage collection.
 * Returns when to look again; undefined if the workflow is gone.
 */
export async function finalizeWorkflow(pass: Finalization): Promise<Millis | undefined> {
  const { client, workflow, memory, now } = pass;
  if (!(workflow.metadata.finalizers ?? []).includes(finalizer)) return undefined;
  const active = isLetGo(workflow) ? [] : pass.children.filter((child) => isActiveChild(workflow, child));
  memory.deletingSince ??= now;
  await endChildren(pass, active);
  if (active.length > 0) {
    if (now - memory.deletingSince >= patience && memory.reportedCleanup !== true) {
      memory.reportedCleanup = true;
      pass.record(notices.cleanupFailed(active.map(({ kind, metadata }) => `${kind}/${metadata.name}`).join(", ")));
    }
    return pollEvery;
  }
  // Reported afterwards, because a conflict repeats the removal.
  await removeFinalizer<Workflow>(client, Workflow, workflow, finalizer);
  pass.record(notices.deleted(workflow.metadata.name));
  return undefined;
}

/** Deleted with orphaned children, or abandoned by hand. */
export const isLetGo = ({ metadata }: Workflow): boolean =>
  metadata.finalizers?.includes("orphan") === true || metadata.annotations?.[abandonAnnotation] === "true";

/** Children of settled steps, and finished ones, do not count. */
function isActiveChild(workflow: Workflow, child: Stored): boolean {
  const key = child.metadata.labels?.[labels.step];
  const phase = key === undefined ? undefined : statusOf(workflow, key)?.phase;
  const attempt = key === undefined ? undefined : statusOf(workflow, key)?.attempt;
  const isCurrent = child.metadata.labels?.[labels.attempt] === String(attempt);
  if (phase !== undefined && isTerminal(phase) && isCurrent) return false;
  return stateOfObject(child).is === "running" || child.metadata.deletionTimestamp !== undefined;
}

/** Deletes each child once, with the grace of a cancelled step. Returns when to look again. */
export async function endChildren(
  { client, signal }: Pick<Finalization, "client" | "signal">,
  active: readonly Stored[],
): Promise<Millis> {
  for (const child of active) {
    if (child.metadata.deletionTimestamp !== undefined) continue;
    const type = await client.resourceType(child.apiVersion, child.kind);
    if (type === undefined) continue;
    try {
      const options = { propagationPolicy: "Background", gracePeriodSeconds: graceSeconds, signal } as const;
      await ensureDeleted(client, type, child, options);
    } catch (thrown) {
      throw new Error(`${child.kind} "${child.metadata.name}": ${messageOf(thrown)}`, { cause: thrown });
    }
  }
  return pollEvery;
}
