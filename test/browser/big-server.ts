/** The whole server of the web UI without controllers: runs are what a test says they are, ten thousand in a second. */
export interface BigServer {
  readonly url: string;
  /** A link that logs in. */
  link(): Promise<string>;
  /** Creates runs of one step, `PREFIX-0` on. */
  createRuns(prefix: string, count: number): Promise<void>;
  /** Creates one run of these steps. */
  createRun(name: string, steps: Readonly<Record<string, readonly string[]>>): Promise<void>;
  /** Ends a run, or lets it begin. Resolves when the change is durable. */
  setPhase(name: string, phase: "Running" | "Succeeded" | "Failed"): Promise<void>;
  close(): Promise<void>;
}

/** Imported by its path: the types of the server are not those of the page, which knows the browser's globals. */
const place: string = "../support/big-server.ts";

export async function startBigServer(): Promise<BigServer> {
  const module = (await import(place)) as { readonly startBigServer: () => Promise<BigServer> };
  return await module.startBigServer();
}
