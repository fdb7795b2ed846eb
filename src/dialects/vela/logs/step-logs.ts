import { readdir, rm } from "node:fs/promises";
import { type Clock, codeOf } from "#lib/base/index.ts";
import { LogWriter, type LogRequest, readingOf, readLogs } from "#kernel/streams/index.ts";
import { badRequest, type KubeObject } from "#kernel/model/index.ts";
import type { LogPlace } from "#kernel/dialect/index.ts";
import { flatSteps } from "../workflow/status.ts";
import { workflowStatusOf } from "../view.ts";

// Lines that steps print are files: one log for each step of an object.

/** A step prints little; more is cut at the oldest end. */
const rotation = { maxBytes: 1024 * 1024, maxFiles: 2 } as const;

/** Writers that are open at once. */
const mostWriters = 256;

const directoryOf = (directory: string, uid: string): string => `${directory}/logs/${uid}`;
const pathOf = (directory: string, uid: string, step: string): string => `${directoryOf(directory, uid)}/${step}`;

/** Steps are executed again while they wait, so a line that repeats the last one is printed once. */
export class StepPrinter {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #open = new Map<string, { readonly writer: LogWriter; last: string }>();

  constructor(directory: string, clock: Clock) {
    this.#directory = directory;
    this.#clock = clock;
  }

  print(uid: string, step: string, line: string): void {
    const path = pathOf(this.#directory, uid, step);
    let open = this.#open.get(path);
    if (open?.last === line) return;
    if (open === undefined) {
      this.#makeRoom();
      open = { writer: new LogWriter(path, { clock: this.#clock, rotation }), last: "" };
      this.#open.set(path, open);
    }
    open.last = line;
    open.writer.append("stdout", Buffer.from(`${line}\n`));
  }

  /** Of an object that is gone. */
  async remove(uid: string): Promise<void> {
    const directory = directoryOf(this.#directory, uid);
    await this.#close((path) => path.startsWith(`${directory}/`));
    await rm(directory, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.#close(() => true);
  }

  async #close(isMeant: (path: string) => boolean): Promise<void> {
    const closing = [...this.#open].filter(([path]) => isMeant(path));
    for (const [path] of closing) this.#open.delete(path);
    await Promise.all(closing.map(([, { writer }]) => writer.close()));
  }

  #makeRoom(): void {
    if (this.#open.size < mostWriters) return;
    const [oldest] = this.#open;
    if (oldest === undefined) return;
    this.#open.delete(oldest[0]);
    void oldest[1].writer.close();
  }
}

/** The lines of one step, or of all steps in their order. */
export async function openStepLog(
  { directory, clock }: LogPlace,
  run: KubeObject,
  part: string,
  { follow: _follow, ...request }: LogRequest,
): Promise<AsyncIterable<Uint8Array>> {
  const { uid = "", name = "" } = run.metadata;
  const steps = flatSteps(workflowStatusOf(run));
  const chosen = steps.filter((step) => part === "" || step.name === part || step.id === part);
  if (part !== "" && chosen.length === 0)
    throw badRequest(
      `step ${JSON.stringify(part)} of ${run.kind.toLowerCase()} ${JSON.stringify(name)} has not started`,
    );
  const present = await filesIn(directoryOf(directory, uid));
  const paths = chosen.flatMap(({ id }) => (id !== undefined && present.has(id) ? [pathOf(directory, uid, id)] : []));
  const reading = readingOf(request, clock);
  return (async function* () {
    for (const path of paths) yield* readLogs(path, reading);
  })();
}

async function filesIn(directory: string): Promise<ReadonlySet<string>> {
  try {
    return new Set(await readdir(directory));
  } catch (thrown) {
    // No step has printed anything.
    if (codeOf(thrown) === "ENOENT") return new Set();
    throw thrown;
  }
}
