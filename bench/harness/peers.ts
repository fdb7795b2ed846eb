import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { withCpu } from "./candidates.ts";
import type { Environment } from "./environment.ts";
import type { Candidate, CandidateSource, Measured } from "./types.ts";
import { WorkerProcess } from "./worker-process.ts";

const run = promisify(execFile);

export type Service = "pg" | "redis" | "restate" | "etcd";

/** A server of a peer, started for this run only. */
export interface RunningService {
  readonly pid: number;
  readonly port: number;
}

/** A peer's engine in a process of its own. */
export interface RunningEngine {
  readonly worker: WorkerProcess;
  /** Engine and server. */
  readonly pids: readonly number[];
}

export const peersOf = ({ home }: Environment): string => join(home, "peers");

/** The version that is installed in bench/peers; undefined when it is not. */
export function installedVersion(environment: Environment, name: string): string | undefined {
  const path = join(peersOf(environment), "node_modules", name, "package.json");
  if (!existsSync(path)) return undefined;
  return (JSON.parse(readFileSync(path, "utf8")) as { readonly version: string }).version;
}

/** Starts an engine and the server it needs. `instance` tells apart several of the same engine. */
export function startEngine(
  environment: Environment,
  name: string,
  service: Service,
  instance = "",
): Promise<RunningEngine> {
  return environment.once(`engine ${name} ${instance}`, async () => {
    refuseMissing(environment);
    const { pid, port } = await startService(environment, service);
    const worker = new WorkerProcess(programOf(environment, name), [], { env: { SERVICE_PORT: String(port) } });
    environment.onClose(() => worker.close());
    await worker.ready();
    return { worker, pids: [pid, worker.pid] };
  });
}

/**
 * A peer's server that stays, and a function that starts an engine beside it, which may be killed; the next one finds what it
 * has left.
 */
export async function startKillable(
  environment: Environment,
  name: string,
  service: Service,
  variables: Readonly<Record<string, string>>,
): Promise<() => Promise<WorkerProcess>> {
  refuseMissing(environment);
  const { port } = await startService(environment, service);
  const env = { ...variables, SERVICE_PORT: String(port), OWN_PORT: String(environment.ports()) };
  return async () => {
    const worker = new WorkerProcess(programOf(environment, name), [], { env });
    environment.onClose(() => worker.close());
    await worker.ready();
    return worker;
  };
}

function refuseMissing(environment: Environment): void {
  if (!existsSync(join(peersOf(environment), "node_modules")))
    throw new Error("bench/peers is not installed, run npm ci there");
}

const programOf = (environment: Environment, name: string): string =>
  join(peersOf(environment), "engines", `${name}.mjs`);

export async function startService(environment: Environment, service: Service): Promise<RunningService> {
  const [directory, port] = [await environment.directory(), environment.ports()];
  const script = join(peersOf(environment), "services.sh");
  try {
    const { stdout } = await run(script, ["start", service, directory, String(port)], { timeout: 30_000 });
    const pid = Number(stdout.trim().split("\n").at(-1));
    if (!(pid > 1)) throw new Error(`no process id in ${JSON.stringify(stdout)}`);
    environment.onClose(() => end(pid));
    return { pid, port };
  } catch (thrown) {
    const { stderr = "" } = thrown as { readonly stderr?: string };
    throw new Error(stderr.trim() === "" ? String(thrown) : stderr.trim(), { cause: thrown });
  }
}

/** SIGTERM, then SIGKILL after five seconds. */
async function end(pid: number): Promise<void> {
  for (let turn = 0; turn < 100; turn++) {
    try {
      process.kill(pid, turn === 0 ? "SIGTERM" : 0);
    } catch {
      return; // It is gone.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  process.kill(pid, "SIGKILL");
}

/** What the engines answer. */
type EngineFigures = Omit<Measured, "cpuUs"> & { readonly effects: number };

export interface EngineLoad {
  readonly kind: string;
  readonly inFlight: number;
  readonly pauseMs?: number;
  /** Steps that have to run in each operation; checked. */
  readonly effects?: number;
}

/** An engine of bench/peers under a load. It goes on running for other benchmarks. */
export function engineCandidate(
  environment: Environment,
  peer: { readonly name: string; readonly version?: string; readonly start: () => Promise<RunningEngine> },
  { effects = 0, ...load }: EngineLoad,
): CandidateSource {
  return {
    name: peer.name,
    role: "peer",
    ...(peer.version === undefined ? {} : { version: peer.version }),
    async start(): Promise<Candidate> {
      const { worker, pids } = await peer.start();
      const measure = async (ms: number, round: string): Promise<Measured> => {
        const name = `${environment.ports()}-${load.kind}-${load.inFlight}-${round}`;
        return await withCpu(pids, async () => {
          const figures = await worker.call<EngineFigures>("load", { ...load, ms, run: name });
          if (figures.effects < effects * figures.ops)
            throw new Error(`${figures.ops} runs had ${figures.effects} steps, expected ${effects} each`);
          return figures;
        });
      };
      return { measure, close: () => Promise.resolve() };
    },
  };
}
