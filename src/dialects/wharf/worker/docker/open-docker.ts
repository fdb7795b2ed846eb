import { type Clock, deferred, err, type Millis, ok, type Result, toError } from "#lib/base/index.ts";
import { type ContainerEngine, openContainerEngine } from "#kernel/runtimes/index.ts";
import { type DockerOptions, DockerStepRuntime } from "./docker-runtime.ts";
import { machineLogins } from "./machine-logins.ts";

/** What decides about containers besides the steps. */
export interface OpenDockerOptions extends Omit<DockerOptions, "engine" | "logins" | "pull"> {
  /** `missing` when absent. */
  readonly pull?: DockerOptions["pull"] | undefined;
  /** Those of the process: where the engine is, and who its user is to registries. */
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** An engine that does not answer by then is none. */
const pingMs: Millis = 2_000;

/** The runtime of the engine that `docker` would talk to, once it has answered; else why there is none. */
export async function openDocker({
  variables,
  pull = "missing",
  ...more
}: OpenDockerOptions): Promise<Result<DockerStepRuntime, Error>> {
  // What is set to nothing counts as not set, as for docker.
  const variable = (name: string): string | undefined => variables[name] || undefined;
  const place = { variable, home: variable("HOME") ?? "/", clock: more.clock };
  let engine: ContainerEngine | undefined;
  try {
    engine = await openContainerEngine(place, more.clock);
    await answers(engine, more.clock);
    return ok(new DockerStepRuntime({ ...more, engine, pull, logins: machineLogins(place) }));
  } catch (thrown) {
    engine?.close();
    return err(toError(thrown));
  }
}

/** One that takes connections and says nothing does not answer. */
async function answers(engine: ContainerEngine, clock: Clock): Promise<void> {
  const late = deferred<never>();
  const cancel = clock.after(pingMs, () =>
    late.reject(new Error(`the engine at ${engine.address} did not answer within 2 s`)),
  );
  try {
    await Promise.race([engine.version(), late.promise]);
  } finally {
    cancel();
  }
}
