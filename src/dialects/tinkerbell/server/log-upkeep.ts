import { type Cancel, type Clock, type Instant, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import { fileName, readReceived } from "#kernel/streams/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { logPath } from "../logs/places.ts";
import { isTerminal } from "../state.ts";
import type { LogShelf } from "./log-shelf.ts";
import type { WorkflowPlace } from "./workflow-id.ts";
import type { Mirrored, WorkflowMirror } from "./workflow-mirror.ts";

// Finds logs that have ended, are too many, or are left of deleted workflows.

export interface LogUpkeepOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly directory: string;
  readonly shelf: LogShelf;
  readonly mirror: WorkflowMirror;
}

/** Foreign agents never report the end of a log, and Slipway's may be gone: readers wait no longer. */
const lateLines: Millis = 5_000;
const lookEvery: Millis = 3_600_000;
/** Delays the check of the limit, which need not follow each chunk. */
const shortly: Millis = 1_000;

/** Ends logs of finished actions; removes those of deleted workflows, and the oldest beyond the limit. */
export class LogUpkeep {
  readonly #options: LogUpkeepOptions;
  readonly #due = new Map<string, Cancel>();
  readonly #unsubscribe: () => void;
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

  /** The first look. Never rejects. */
  async run(): Promise<void> {
    const { mirror } = this.#options;
    await this.#lookAtAll();
    const folders = new Set(await this.#options.shelf.folders().catch(() => []));
    for (const workflow of mirror.all()) if (folders.has(fileName(workflow.metadata.uid))) this.#changed(workflow);
  }

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

  /** Checked later, and only for workflows with logs. */
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

  /** Of finished actions whose agent does not report the log's end. */
  async #endLogs(place: WorkflowPlace): Promise<void> {
    const { mirror, shelf } = this.#options;
    const found = (await shelf.has(place.uid ?? "")) ? mirror.get(place) : undefined;
    if (found === undefined) return;
    const over = found.state.actions.filter((action) => isOver(action) || isTerminal(found.state.phase));
    for (const { id, finishedAt = 0 } of over)
      if (!(await this.#end(found.uid, id, finishedAt))) this.#changed(found.workflow);
  }

  /** False if it must be checked again: it is being sent, or the action has just ended. */
  async #end(uid: string, action: string, finishedAt: Instant): Promise<boolean> {
    const { shelf, directory, clock } = this.#options;
    const received = await readReceived(logPath(directory, uid, action));
    if (received?.isEnded === true) return true;
    const passed = clock.now() - finishedAt;
    if (shelf.isTaken(uid, action) || (passed >= 0 && passed < lateLines)) return false;
    const held = await shelf.open(uid, action);
    const isWhole = await held.opened.end().then(
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

  #lookAtAll(): Promise<void> {
    this.#sweeping = this.#sweeping
      .then(() => this.#look())
      .catch((thrown: unknown) =>
        this.#options.log.warn("logs of actions could not be looked through", { error: messageOf(thrown) }),
      )
      .then(() => this.#lookAfter(lookEvery));
    return this.#sweeping;
  }

  /** Removes orphans, counts, then removes what exceeds the limit. */
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

  /** A later look tries again. */
  async #remove(name: string): Promise<void> {
    await this.#options.shelf
      .remove(name)
      .catch((thrown: unknown) => this.#options.log.warn("logs were not removed", { error: messageOf(thrown) }));
  }
}

/** With its uid, so that another one of its name is not meant. */
const placeIn = ({ metadata: { namespace = "", name, uid } }: Stored): WorkflowPlace => ({ namespace, name, uid });

const isOver = ({ phase }: { readonly phase: string }): boolean => phase === "Succeeded" || phase === "Failed";

const lastOf = ({ state, createdAt }: Mirrored): Instant =>
  Math.max(createdAt, ...state.actions.map(({ finishedAt }) => finishedAt ?? 0));
