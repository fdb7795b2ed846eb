import type { LogOptions } from "#kernel/kit/index.ts";
import { ApiError, type KubeObject } from "#kernel/model/index.ts";

/** Where the lines of containers are kept; the Pod runner's log store implements it. */
export interface PodLogs {
  /**
   * The log of one container as bytes of whole or partial lines. `options.container` is set. Refusals (`ApiError`) come from
   * the call, before the first chunk; a follower ends when the container has ended or the signal aborts.
   */
  open(pod: KubeObject, options: PodLogRequest): Promise<AsyncIterable<Uint8Array>>;
}

export type PodLogRequest = LogOptions & {
  readonly container: string;
  readonly sinceTime?: string;
  /** Both when absent. */
  readonly stream?: "stdout" | "stderr";
};

/** For a server without a Pod runner. */
export const noPodLogs: PodLogs = {
  open: () => Promise.reject(new ApiError("NotImplemented", "this server runs no Pods, so there are no logs")),
};
