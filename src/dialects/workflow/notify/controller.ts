import {
  type Clock,
  err,
  getOrAdd,
  inParallel,
  type Instant,
  type Millis,
  parseInstant,
  type Result,
} from "#lib/base/index.ts";
import { exponential } from "#engine/index.ts";
import {
  type ApiClient,
  controllerFor,
  type Informer,
  isAllowed,
  type Manager,
  type Reconciler,
  type ReconcileResult,
  secretText,
} from "#kernel/kit/index.ts";
import { isConflict, keyOf, Secret, type Stored } from "#kernel/model/index.ts";
import { Workflow } from "../kinds.ts";
import { type Notice, notices } from "../messages.ts";
import { specOf } from "../spec-of.ts";
import { deliver } from "./deliver.ts";
import { messageOf } from "./message.ts";
import { afterDeliveries, type Delivery, idPart } from "./owed.ts";
import type { OwedNotification, Notification } from "./schema.ts";
import { readTarget } from "./target-rules.ts";

// Separate, so that slow targets delay nothing. A posted but unrecorded notification is posted again.

/** Retried this long, and at least once. */
const patience: Millis = 60 * 60_000;
const pauses = { base: 1_000, factor: 2, cap: 5 * 60_000 };
/** At most 64 requests at once. */
const workflowsAtOnce = 16;
const width = 4;
/** A pass ends within twenty seconds. */
const mostInPass = 8;

/** Consecutive failures and the next try. Lost with the process, which restarts the pauses. */
interface Try {
  readonly count: number;
  readonly next: Instant;
}

interface NotifierParts {
  readonly client: ApiClient;
  readonly clientFor: (workflow: Stored<Workflow>) => ApiClient;
  readonly clock: Clock;
  readonly workflows: Pick<Informer<Workflow>, "get">;
  readonly record: (workflow: Stored<Workflow>, notice: Notice) => void;
}

/** Adds the controller to a manager that has not started. */
export function addNotifier(manager: Manager, workflows: Informer<Workflow>, record: NotifierParts["record"]): void {
  const { client, clock } = manager;
  const clientFor = (workflow: Stored<Workflow>): ApiClient => manager.clientFor(workflow);
  controllerFor(manager, "notification")
    .for<Workflow>(Workflow, { predicates: [({ object }) => isOwing(object)], isOwed: isOwing })
    .with({ maxConcurrent: workflowsAtOnce })
    .complete(notifier({ client, clientFor, clock, workflows, record }));
}

/** Most workflows notify nobody. */
const isOwing = ({ status }: Workflow): boolean => (status?.notifications?.owed ?? []).length > 0;

/** Posts what a workflow owes and records the results. Pauses after failures; gives up after an hour. */
function notifier(parts: NotifierParts): Reconciler {
  const { clock, workflows } = parts;
  // Failures, for the pauses only.
  const tries = new Map<string, Map<string, Try>>();
  return {
    async reconcile(request, { signal }): Promise<ReconcileResult | undefined> {
      const key = keyOf(request);
      const workflow = workflows.get(key);
      if (workflow === undefined || !isOwing(workflow)) {
        // Nothing left, so memory is bounded by what statuses owe.
        tries.delete(key);
        return undefined;
      }
      const known = getOrAdd(tries, key, () => new Map<string, Try>());
      const owed = workflow.status?.notifications?.owed ?? [];
      // Notifications recorded meanwhile need no memory.
      const names = new Set(owed.map((one) => nameOf(workflow, one)));
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
      const due = firstOfEach(owed).filter((one) => (known.get(nameOf(workflow, one))?.next ?? 0) <= clock.now());
      const deliveries: Delivery[] = [];
      await inParallel(
        due.slice(0, mostInPass),
        async (one) => void deliveries.push(await tryOne(parts, workflow, one, known, signal)),
        width,
      );
      // No later pass would do it.
      if (known.size === 0) tries.delete(key);
      await writeDown(parts, key, workflow, deliveries, signal);
      if (known.size === 0) tries.delete(key);
      const isAgain = due.length > mostInPass || deliveries.some(({ is }) => is !== "failed");
      if (isAgain && owed.length > 1) return { requeueAfter: 0 };
      const waits = [...known.values()].map(({ next }) => Math.max(0, next - clock.now()));
      return waits.length === 0 ? undefined : { requeueAfter: Math.min(...waits) };
    },
  };
}

/** The first notification of each target: targets get them in order, and an unresponsive one is tried once per pass. */
function firstOfEach(owed: readonly OwedNotification[]): readonly OwedNotification[] {
  const first = new Map<number, OwedNotification>();
  for (const one of owed) if (!first.has(one.to)) first.set(one.to, one);
  return [...first.values()];
}

const nameOf = ({ metadata: { uid } }: Stored<Workflow>, owed: OwedNotification): string =>
  `${uid}/${owed.to}/${idPart(owed)}`;

/** Tries a notification once, however old it is: a stopped server has not tried yet. */
async function tryOne(
  parts: NotifierParts,
  workflow: Stored<Workflow>,
  owed: OwedNotification,
  known: Map<string, Try>,
  signal: AbortSignal,
): Promise<Delivery> {
  const problem = await post(parts, workflow, owed, signal);
  const name = nameOf(workflow, owed);
  if (problem === undefined) {
    known.delete(name);
    return { owed, is: "delivered" };
  }
  const now = parts.clock.now();
  if (now - (parseInstant(owed.time) ?? 0) >= patience) {
    known.delete(name);
    return { owed, is: "given up", problem };
  }
  const count = (known.get(name)?.count ?? 0) + 1;
  known.set(name, { count, next: now + exponential(count, pauses) });
  return { owed, is: "failed", problem };
}

/** Undefined if delivered, else the problem without the URL. Reads the spec now, so that a corrected URL is used. */
async function post(
  { clock, clientFor }: NotifierParts,
  workflow: Stored<Workflow>,
  owed: OwedNotification,
  signal: AbortSignal,
): Promise<string | undefined> {
  const notification = specOf(workflow).notifications?.[owed.to];
  if (notification === undefined) return "the workflow has no such notification any more";
  const acting = clientFor(workflow);
  const { namespace = "" } = workflow.metadata;
  const url = await targetOf(acting, namespace, notification, signal);
  if (!url.ok) return url.error;
  const right = { verb: "use", group: "slipway.dev", resource: "notificationtargets", namespace } as const;
  // The writer may post to this host although it has a private address.
  const mayReach = (host: string): Promise<boolean> => isAllowed(acting, { ...right, name: host }, signal);
  return await deliver({ url: url.value, message: messageOf(workflow, notification, owed), clock, signal, mayReach });
}

/** Removes settled notifications from the newest status. Retries conflicts: posting again would notify twice. */
async function writeDown(
  { client, workflows, record }: NotifierParts,
  key: string,
  workflow: Stored<Workflow>,
  deliveries: readonly Delivery[],
  signal: AbortSignal,
): Promise<void> {
  let current = workflows.get(key) ?? workflow;
  for (let round = 0; ; round++) {
    if (current.metadata.uid !== workflow.metadata.uid) return;
    const { apiVersion, kind, metadata, spec, status = {} } = current;
    const notifications = afterDeliveries(status.notifications, deliveries);
    if (notifications === status.notifications || notifications === undefined) return;
    try {
      const next = { apiVersion, kind, metadata, spec, status: { ...status, notifications } };
      const stored = await client.updateStatus<Workflow>(Workflow, next, { signal });
      for (const { is, owed, problem = "" } of deliveries)
        if (is === "given up") record(stored, notices.notNotified(owed.to, owed.event, problem));
      return;
    } catch (thrown) {
      if (!isConflict(thrown) || round >= mostRounds) throw thrown;
      const { namespace = "", name } = metadata;
      current = await client.get<Workflow>({ type: Workflow, namespace, name }, { signal });
    }
  }
}

/** Writes lost to conflicts; then the notification is posted again. */
const mostRounds = 10;

// Rights of the workflow's writer are checked when posting, so that changes of roles count.

/** From the document, or a Secret that the writer may read. A refusal may pass, because roles change. */
async function targetOf(
  acting: ApiClient,
  namespace: string,
  { url, secretRef }: Notification,
  signal: AbortSignal,
): Promise<Result<URL, string>> {
  if (secretRef === undefined) return readTarget(url ?? "");
  const { name, key } = secretRef;
  try {
    const text = secretText(await acting.get({ type: Secret, namespace, name }, { signal }), key);
    return text === undefined ? err(`the Secret "${name}" has no key "${key}"`) : readTarget(text);
  } catch {
    signal.throwIfAborted();
    // Without the server's words, which are for readers of Secrets.
    return err(`the Secret "${name}" cannot be read by the writer of the workflow`);
  }
}
