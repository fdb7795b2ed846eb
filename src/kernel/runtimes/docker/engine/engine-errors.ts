import { codeOf, messageOf, type Millis, SlipwayError } from "#lib/base/index.ts";

// What can go wrong between this program and the engine. What the engine says against one container is its task's outcome.

/** The engine answered with a refusal. `status` is of HTTP: 404 unknown, 409 conflict, 400 bad parameter, 500 everything else. */
export class EngineRefusal extends SlipwayError {
  readonly status: number;

  constructor(status: number, message: string) {
    super("engine-refusal", message);
    this.status = status;
  }
}

/** Nobody answers at the address, or the connection broke. Passes by itself when the engine is started again. */
export const engineUnreachable = (address: string, cause: unknown): SlipwayError =>
  new SlipwayError("engine-unreachable", `no Docker Engine answers at ${address}: ${messageOf(cause)}`, {
    hint: hintFor(codeOf(cause)),
    cause,
  });

/** It takes connections and does not answer. For who asks that is the same as one that is away: it may pass. */
export const engineHangs = (address: string, request: string, ms: Millis): SlipwayError =>
  new SlipwayError(
    "engine-unreachable",
    `the Docker Engine at ${address} hangs: no answer to ${request} for ${ms / 1000} s`,
    {
      hint: "look at it with `sudo systemctl status docker`; `sudo systemctl restart docker` ends its containers, too",
    },
  );

function hintFor(code: string | undefined): string {
  if (code === "ENOENT") {
    return "start it with `sudo systemctl start docker`; install it with `sudo apt-get install docker.io`, or name another one in DOCKER_HOST";
  }
  if (code === "EACCES") return "this user may not use it; `sudo usermod -aG docker $USER`, then log in again";
  return "start it with `sudo systemctl start docker`, or name another one in DOCKER_HOST";
}

/** The engine is older than what is needed here. */
export const engineTooOld = (address: string, found: string): SlipwayError =>
  new SlipwayError("engine-too-old", `the Docker Engine at ${address} speaks API ${found}, at least 1.41 is needed`, {
    hint: "upgrade it to Docker Engine 20.10 or newer",
  });

export const isRefusal = (thrown: unknown, status: number): boolean =>
  thrown instanceof EngineRefusal && thrown.status === status;
