import type { Invocation } from "./command.ts";
import type { RunOptions } from "./commands/run.ts";
import { connectRunning, findRunning } from "./connect.ts";
import { hostEnvironment } from "./host-environment.ts";
import type { Session } from "./session.ts";
import { version } from "./version.ts";

/** A control plane that carries a run: the running one, or one of our own that ends with us. */
export interface ControlPlaneSession extends Session {
  readonly isEphemeral: boolean;
  /** Where steps run and why, for people. */
  readonly note: string;
}

/** Uses the running control plane if there is one or one was named, else starts an ephemeral one in this process. */
export async function openControlPlane({
  options,
  environment,
  clock,
}: Invocation<RunOptions>): Promise<ControlPlaneSession> {
  const running = options.ephemeral === true ? undefined : await findRunning(options, environment);
  if (running !== undefined) {
    const session = await connectRunning(options, environment, clock);
    return {
      ...session,
      isEphemeral: false,
      note: `on the control plane of ${running}, which decides where steps run`,
    };
  }
  const { startEphemeral } = await import("#app/server/index.ts");
  const plane = await startEphemeral({
    clock,
    version,
    level: options.verbose > 1 ? "debug" : options.verbose > 0 ? "info" : "error",
    workingDirectory: environment.directory,
    environment: hostEnvironment(environment),
  });
  return {
    client: plane.client,
    namespace: options.namespace ?? "default",
    isEphemeral: true,
    note: "runtime process: steps run on this machine as you, the only runtime of this version",
    close: () => plane.close(),
  };
}
