import {
  afterAwake,
  type Clock,
  deferred,
  err,
  type Millis,
  ok,
  orAborted,
  type Result,
  toError,
} from "#lib/base/index.ts";
import { type ContainerEngine, openContainerEngine } from "#kernel/runtimes/index.ts";
import { defaultPatience } from "../patience.ts";
import { type DockerOptions, DockerStepRuntime } from "./docker-runtime.ts";
import { machineLogins } from "./machine-logins.ts";

/** What decides about containers besides the steps. */
export interface OpenDockerOptions extends Omit<DockerOptions, "engine" | "logins" | "pull"> {
  /** `missing` when absent. */
  readonly pull?: DockerOptions["pull"] | undefined;
  /** Those of the process: where the engine is, and who its user is to registries. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Nobody has asked for containers: where there is no engine at once he may want something else. */
  readonly isGuess?: boolean;
  /** Aborted: nobody waits for the engine any more. */
  readonly signal?: AbortSignal;
}

/** An engine that nobody has asked for is none when it does not answer by then. */
const pingMs: Millis = 2_000;

/** The runtime of the engine that `docker` would talk to, once it has answered; else why there is none. */
export async function openDocker({
  variables,
  pull = "missing",
  isGuess = false,
  signal,
  ...more
}: OpenDockerOptions): Promise<Result<DockerStepRuntime, Error>> {
  // What is set to nothing counts as not set, as for docker.
  const variable = (name: string): string | undefined => variables[name] || undefined;
  const place = { variable, home: variable("HOME") ?? "/", clock: more.clock };
  let engine: ContainerEngine | undefined;
  try {
    engine = await openContainerEngine(place, more.clock);
    await answers(engine, more.clock, isGuess ? pingMs : defaultPatience, signal);
    return ok(new DockerStepRuntime({ ...more, engine, pull, logins: machineLogins(place) }));
  } catch (thrown) {
    engine?.close();
    return err(toError(thrown));
  }
}

/** One that takes connections and says nothing does not answer. */
async function answers(engine: ContainerEngine, clock: Clock, limit: Millis, signal?: AbortSignal): Promise<void> {
  const late = deferred<never>();
  const cancel = afterAwake(clock, limit, () =>
    late.reject(new Error(`the engine at ${engine.address} did not answer within ${limit / 1000} s`)),
  );
  try {
    await orAborted(Promise.race([engine.version(), late.promise]), signal);
  } finally {
    cancel();
  }
}
