import { nameOf } from "../labels.ts";
import { garbageSettings, retentionOf } from "../policies/retention.ts";
import { removeTracked } from "./remove-tracked.ts";
import { identityOf, type TrackedObject, type Tracker, trackerName, withoutTracked } from "./tracker.ts";
import { trackedObject } from "./tracked-groups.ts";
import type { VelaDelivery } from "./vela-delivery.ts";

/** What became of outdated objects. Pending ones need another pass. */
export interface Collection {
  readonly deleted: readonly string[];
  readonly pending: readonly string[];
  /** Kept on purpose, or because they are not the application's any more. */
  readonly left: readonly string[];
}

export interface CollectOptions {
  /** Objects that something else still needs, such as the former workload of a rollout. */
  readonly isInUse?: (object: TrackedObject) => boolean;
}

/**
 * Deletes the objects of other revisions that the present one does not have, and those of components that only an
 * earlier run of the present one applied, in the reverse order of their application. For after a successful workflow,
 * or a failed one if `garbageSettings` says so.
 */
export async function collectGarbage(delivery: VelaDelivery, options: CollectOptions = {}): Promise<Collection> {
  const { app, trackers } = delivery;
  if (garbageSettings(app).keepsLegacy) return { deleted: [], pending: [], left: [] };
  const present = trackerName(app.identity, "versioned");
  const all = await trackers.all();
  const wanted = new Set((await trackers.current()).flatMap(({ objects }) => objects.map(identityOf)));
  const run = delivery.parts.run?.();
  const collected = new Collector(delivery, (entry, { name }) => {
    if (name === present && (entry.run === undefined || run === undefined || entry.run === run)) return "keep";
    if (name !== present && wanted.has(identityOf(entry))) return "drop";
    if (entry.skipGC === true) return "drop";
    if (options.isInUse?.(entry) === true) return "keep";
    const { strategy } = retentionOf(app, subjectOf(delivery, entry));
    if (strategy === "never") return "drop";
    return strategy === "onAppDelete" ? "root" : "delete";
  });
  for (const tracker of all.filter(({ type }) => type === "versioned")) await collected.collect(tracker);
  return collected.result;
}

/**
 * Deletes everything that the application applied, for its deletion; with `isOrphaning` everything stays. Done when
 * nothing is pending: only then may the application's finalizer go.
 */
export async function releaseApplication(
  delivery: VelaDelivery,
  { isOrphaning = false }: { readonly isOrphaning?: boolean } = {},
): Promise<Collection> {
  const collected = new Collector(delivery, (entry) => {
    if (isOrphaning || entry.skipGC === true) return "drop";
    return retentionOf(delivery.app, subjectOf(delivery, entry)).strategy === "never" ? "drop" : "delete";
  });
  const all = await delivery.trackers.all();
  // What lives as long as the application goes last.
  for (const type of ["versioned", "root"] as const)
    for (const tracker of all.filter((one) => one.type === type)) await collected.collect(tracker);
  return collected.result;
}

const subjectOf = (delivery: VelaDelivery, entry: TrackedObject) =>
  delivery.subjectOf({ role: entry.role ?? "WORKLOAD", ...entry, object: trackedObject(entry) });

/** `drop`: forgotten, the object stays. `root`: moved to the tracker of what lives until the application's deletion. */
type Fate = "drop" | "keep" | "root" | "delete";

class Collector {
  readonly #delivery: VelaDelivery;
  readonly #fateOf: (entry: TrackedObject, tracker: Tracker) => Fate;
  readonly #deleted: string[] = [];
  readonly #pending: string[] = [];
  readonly #left: string[] = [];

  constructor(delivery: VelaDelivery, fateOf: (entry: TrackedObject, tracker: Tracker) => Fate) {
    this.#delivery = delivery;
    this.#fateOf = fateOf;
  }

  get result(): Collection {
    return { deleted: this.#deleted, pending: this.#pending, left: this.#left };
  }

  /** Stores what is left of the tracker in one write. */
  async collect(tracker: Tracker): Promise<void> {
    const { trackers, app } = this.#delivery;
    const { inOrder } = garbageSettings(app);
    const gone = new Set<string>();
    let waitingFor: string | undefined;
    for (const entry of [...tracker.objects].reverse()) {
      const component = entry.component ?? "";
      // In order, a component goes only when those applied after it are gone.
      if (inOrder && waitingFor !== undefined && waitingFor !== component) break;
      const isGone = await this.#settle(entry, tracker);
      if (isGone) gone.add(identityOf(entry));
      else if (this.#fateOf(entry, tracker) === "delete") waitingFor ??= component;
    }
    const rest = withoutTracked(tracker, gone);
    if (rest.objects.length === 0) await trackers.drop(tracker);
    else if (gone.size > 0) await trackers.replace(rest);
  }

  async #settle(entry: TrackedObject, tracker: Tracker): Promise<boolean> {
    const fate = this.#fateOf(entry, tracker);
    if (fate === "keep") return false;
    if (fate === "root") await this.#delivery.trackers.track("root", [entry]);
    if (fate !== "delete") return true;
    const removal = await removeTracked(this.#delivery, entry);
    if (removal.kind === "pending") this.#pending.push(removal.reason);
    else if (removal.kind === "left") this.#left.push(removal.reason);
    else this.#deleted.push(nameOf(trackedObject(entry)));
    return removal.kind !== "pending";
  }
}
