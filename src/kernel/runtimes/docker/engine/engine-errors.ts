import { codeOf, messageOf, type Millis, SlipwayError } from "#lib/base/index.ts";

/** `status` is HTTP's: 404 unknown, 409 conflict, 400 bad parameter, 500 everything else. */
export class EngineRefusal extends SlipwayError {
  readonly status: number;

  constructor(status: number, message: string) {
    super("engine-refusal", message);
    this.status = status;
  }
}

/** Passes when the engine is started again. */
export const engineUnreachable = (address: string, cause: unknown): SlipwayError =>
  new SlipwayError("engine-unreachable", `no Docker Engine answers at ${address}: ${messageOf(cause)}`, {
    hint: hintFor(codeOf(cause)),
    cause,
  });

/** Same code as an absent engine: it may pass. */
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

export const engineTooOld = (address: string, found: string): SlipwayError =>
  new SlipwayError("engine-too-old", `the Docker Engine at ${address} speaks API ${found}, at least 1.41 is needed`, {
    hint: "upgrade it to Docker Engine 20.10 or newer",
  });

export const isRefusal = (thrown: unknown, status: number): boolean =>
  thrown instanceof EngineRefusal && thrown.status === status;
