import { codeOf } from "#lib/base/index.ts";
import type { ApiClient, PodStreams } from "#kernel/kit/index.ts";
import { ApiError, isTransient } from "#kernel/model/index.ts";
import type { Counterpart } from "../patience.ts";

/** The cluster that steps run in, and where in it. */
export interface Cluster {
  readonly client: ApiClient;
  readonly streams: PodStreams;
  readonly namespace: string;
  /** Its address, for messages. */
  readonly server: string;
}

/** What connections say that break, or that nobody takes. */
const broken = new Set([
  "connection-failed",
  "connection-refused",
  "connection-timeout",
  "request-timeout",
  "host-unknown",
]);

/** What nodes say of a program that cannot be executed: refused with the number of a failure that passes, which it is not. */
const notExecuted = /OCI runtime|executable file not found|no such file or directory/i;

/** A server that is just being started, or is too busy, refuses in words of its own; what it refuses for good is no absence. */
export const clusterCounterpart: Counterpart = {
  name: "the cluster",
  isAway: (thrown) =>
    thrown instanceof ApiError
      ? isTransient(thrown) && !notExecuted.test(thrown.message)
      : broken.has(codeOf(thrown) ?? ""),
};
