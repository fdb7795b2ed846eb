import { codeOf } from "#lib/base/index.ts";
import type { ApiClient, PodStreams } from "#kernel/kit/index.ts";
import { ApiError, isTransient } from "#kernel/model/index.ts";
import type { Counterpart } from "../patience.ts";

export interface Cluster {
  readonly client: ApiClient;
  readonly streams: PodStreams;
  readonly namespace: string;
  readonly server: string;
}

const broken = new Set([
  "connection-failed",
  "connection-refused",
  "connection-timeout",
  "request-timeout",
  "host-unknown",
]);

/** Nodes report these final failures with transient status codes. */
const notExecuted = /OCI runtime|executable file not found|no such file or directory/i;

/** A starting or overloaded server counts as away. */
export const clusterCounterpart: Counterpart = {
  name: "the cluster",
  isAway: (thrown) =>
    thrown instanceof ApiError
      ? isTransient(thrown) && !notExecuted.test(thrown.message)
      : broken.has(codeOf(thrown) ?? ""),
};
