import { type Cancel, type Clock, type Instant, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import { readReceived } from "#kernel/logs/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { fileName, logPath } from "../log-places.ts";
import { isTerminal } from "../state.ts";
import type { LogShelf } from "./log-shelf.ts";
import type { WorkflowPlace } from "./workflow-id.ts";
import type { Mirrored, WorkflowMirror } from "./workflow-mirror.ts";

// Logs are files that nobody but time looks after: which are over, which are too many, and which are left of workflows that somebody has deleted
// while no server ran. The store says what there is; what the disk has besides is removed.

export interface LogUpkeepOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly directory: string;
  readonly shelf: LogShelf;
  readonly mirror: WorkflowMirror;
}

/** Agents of other makers never say that a log has ended, and one of ours may be gone: nobody is to wait for more than this. */
const lateLines: Millis = 5_000;
const lookEvery: Millis = 3_600_000;
/** More than may be is looked for at once, and not at each chunk. */
const shortly: Millis = 1_000;

/**
 * Ends logs of actions that have ended, removes those of workflows that have gone, and the oldest ones of ended workflows when there are
 * more than there may be.
 */
export class LogUpkeep {
  readonly #options: LogUpkeepOptions;
  /** By uid: when the logs of a workflow are looked at. */
  readonly #due = new Map<string, Cancel>();
  readonly #unsubscribe: () => void;
  /** The next look at everything. */
  #sweep: Cancel | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: LogUpkeepOptions) {
    this.#options = options;
    this.#unsubscribe = options.mirror.onWorkflow({
      changed: (workflow) => this.#changed(workflow),
      gone: (uid) => void this.#remove(fileName(uid)),
    });
  }

  /** The first look at all that is there. Never rejects. */
  async run(): Promise<void> {
    const { mirror } = this.#options;
    await this.#lookAtAll();
    const folders = new Set(await this.#options.shelf.folders().catch(() => []));
    for (const workflow of mirror.all()) if (folders.has(fileName(workflow.metadata.uid))) this.#changed(workflow);
  }

  /** A log has grown. */
  grown(): void {
    if (this.#options.shelf.isOverfull) this.#lookAfter(shortly);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unsubscribe();
    this.#sweep?.();
    for (const cancel of this.#due.values()) cancel();
    this.#due.clear();
    await this.#sweeping;
  }

  /** Whether something has ended is looked at later, and only of workflows that have logs. */
  #changed(workflow: Stored): void {
    const { uid } = workflow.metadata;
    if (this.#isClosed || this.#due.has(uid)) return;
    const look = (): void => {
      this.#due.delete(uid);
      this.#endLogs(placeIn(workflow)).catch((thrown: unknown) =>
        this.#options.log.warn("logs of a workflow could not be ended", { uid, error: messageOf(thrown) }),
      );
    };
    this.#due.set(uid, this.#options.clock.after(lateLines, look));
  }

  /** Of actions that have ended for a while, and whose agent says nothing of it. */
  async #endLogs(place: WorkflowPlace): Promise<void> {
    const { mirror, shelf } = this.#options;
    const found = (await shelf.has(place.uid ?? "")) ? mirror.get(place) : undefined;
    if (found === undefined) return;
    const over = found.state.actions.filter((action) => isOver(action) || isTerminal(found.state.phase));
    for (const { id, finishedAt = 0 } of over)
      if (!(await this.#end(found.uid, id, finishedAt))) this.#changed(found.workflow);
  }

  /** False when it is to be looked at again: it is just being sent, or the action has ended a moment ago. */
  async #end(uid: string, action: string, finishedAt: Instant): Promise<boolean> {
    const { shelf, directory, clock } = this.#options;
    const received = await readReceived(logPath(directory, uid, action));
    if (received?.isEnded === true) return true;
    const passed = clock.now() - finishedAt;
    if (shelf.isTaken(uid, action) || (passed >= 0 && passed < lateLines)) return false;
    const held = await shelf.open(uid, action);
    const isWhole = await held.log.end().then(
      () => true,
      () => false,
    );
    await held.release(isWhole);
    return isWhole;
  }

  #lookAfter(delay: Millis): void {
    this.#sweep?.();
    if (!this.#isClosed) this.#sweep = this.#options.clock.after(delay, () => void this.#lookAtAll());
  }

  /** One look at a time. */
  #lookAtAll(): Promise<void> {
    this.#sweeping = this.#sweeping
      .then(() => this.#look())
      .catch((thrown: unknown) =>
        this.#options.log.warn("logs of actions could not be looked through", { error: messageOf(thrown) }),
      )
      .then(() => this.#lookAfter(lookEvery));
    return this.#sweeping;
  }

  /** Removes what belongs to nothing, then counts, then removes what is too much. */
  async #look(): Promise<void> {
    const { shelf, mirror, log } = this.#options;
    const folders = await shelf.folders();
    const workflows = new Map(mirror.all().map((workflow) => [fileName(workflow.metadata.uid), placeIn(workflow)]));
    for (const name of folders) if (!workflows.has(name)) await shelf.remove(name);
    await shelf.measure();
    if (!shelf.isOverfull) return;
    const ended = folders
      .flatMap((name) => workflows.get(name) ?? [])
      .flatMap((place) => mirror.get(place) ?? [])
      .filter(({ state }) => isTerminal(state.phase))
      .sort((a, b) => lastOf(a) - lastOf(b));
    for (const { uid, key } of ended) {
      if (!shelf.isOverfull) return;
      log.warn("the logs of a workflow were removed, because there are too many", { workflow: key });
      await shelf.remove(fileName(uid));
    }
  }

  /** What stays is removed by a later look. */
  async #remove(name: string): Promise<void> {
    await this.#options.shelf
      .remove(name)
      .catch((thrown: unknown) => this.#options.log.warn("logs were not removed", { error: messageOf(thrown) }));
  }
}

/** With its uid: another one of its name is not meant. */
const placeIn = ({ metadata: { namespace = "", name, uid } }: Stored): WorkflowPlace => ({ namespace, name, uid });

/** Nothing more comes of it but what is on its way. */
const isOver = ({ phase }: { readonly phase: string }): boolean => phase === "Succeeded" || phase === "Failed";

/** When the last action of a workflow ended. */
const lastOf = ({ state, createdAt }: Mirrored): Instant =>
  Math.max(createdAt, ...state.actions.map(({ finishedAt }) => finishedAt ?? 0));
