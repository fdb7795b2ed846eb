import { mkdtempSync, statfsSync } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { WorkerProcess, type WorkerOptions } from "./worker-process.ts";

const worker = fileURLToPath(new URL("./worker.mjs", import.meta.url));
const tmpfsMagic = 0x01021994;

/** Where a run keeps its files, and what it has started. */
export class Environment {
  /** The folder of the benchmarks in the repository. */
  readonly home: string;
  /** Everything of this run is below it and goes with it. */
  readonly root: string;
  /** Where CPU profiles of our programs go; absent: none are taken. */
  readonly profiles: string | undefined;
  readonly #onClose: (() => Promise<void>)[] = [];
  readonly #shared = new Map<string, Promise<unknown>>();
  #directories = 0;
  // Below those that the kernel gives to clients: one of them could be taken by a connection.
  #ports = 23_000 + (process.pid % 40) * 100;

  constructor(home: string, isProfiling: boolean) {
    this.home = home;
    this.root = mkdtempSync(join(isMemory(tmpdir()) ? join(home, ".run") : tmpdir(), "slipway-bench-"));
    this.profiles = isProfiling ? join(home, "results", "profiles") : undefined;
  }

  /** A new, empty directory. */
  async directory(): Promise<string> {
    const path = join(this.root, String(this.#directories++));
    // Our server takes no directory that others can look into; those that run as users of their own are given theirs.
    await mkdir(path, { recursive: true, mode: 0o700 });
    // Servers that run as users of their own have to get in.
    await chmod(this.root, 0o755);
    return path;
  }

  /** Three ports in a row that nobody else of this run has. */
  ports(): number {
    this.#ports += 3;
    return this.#ports;
  }

  /** One of the programs of `worker.ts` in a process of its own. */
  worker(name: string, options: WorkerOptions & { readonly isOurs?: boolean } = {}): WorkerProcess {
    const { isOurs = false, ...rest } = options;
    const flags = isOurs && this.profiles !== undefined ? ["--cpu-prof", `--cpu-prof-dir=${this.profiles}`] : [];
    return new WorkerProcess(worker, [name], { ...rest, execArgv: ["--enable-source-maps", ...flags] });
  }

  /** Starts something once for the whole run. A failure is the same for all who ask. */
  once<T>(name: string, start: () => Promise<T>): Promise<T> {
    const known = this.#shared.get(name);
    // What is kept under a name is what was started under it.
    if (known !== undefined) return known as Promise<T>;
    const started = start();
    this.#shared.set(name, started);
    return started;
  }

  onClose(run: () => Promise<void>): void {
    this.#onClose.push(run);
  }

  /** Ends what was started, last first, and removes the files. */
  async close(): Promise<void> {
    for (const run of this.#onClose.splice(0).reverse()) await run().catch(() => undefined); // It has ended by itself.
    await rm(this.root, { recursive: true, force: true });
  }
}

/** True for a file system without a disk, where a flush costs nothing. */
const isMemory = (path: string): boolean => statfsSync(path).type === tmpfsMagic;
