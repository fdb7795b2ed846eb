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

export interface OpenDockerOptions extends Omit<DockerOptions, "engine" | "logins" | "pull"> {
  readonly pull?: DockerOptions["pull"] | undefined;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** No --runtime was given: without an engine others are suggested quickly. */
  readonly isGuess?: boolean;
  readonly signal?: AbortSignal;
}

const pingMs: Millis = 2_000;

/** The runtime of the engine that `docker` would use, once it has answered. */
export async function openDocker({
  variables,
  pull = "missing",
  isGuess = false,
  signal,
  ...more
}: OpenDockerOptions): Promise<Result<DockerStepRuntime, Error>> {
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
