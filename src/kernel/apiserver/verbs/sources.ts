import type { LogOptions } from "#kernel/kit/index.ts";
import type { GroupKind } from "#engine/index.ts";
import type { LogRequest } from "#kernel/streams/index.ts";
import { ApiError, type KubeObject } from "#kernel/model/index.ts";
import type { PodSessions } from "#kernel/runtimes/index.ts";

/** Logs of containers; the Pod runner's log store implements it. */
export interface PodLogs {
  /** Requests may be `numbered`. */
  readonly numbersLines?: boolean;
  /** In whole or partial lines. Refuses (`ApiError`) before the first chunk; ends with the container or signal. */
  open(pod: KubeObject, options: PodLogRequest): Promise<AsyncIterable<Uint8Array>>;
}

export type PodLogRequest = LogOptions & {
  readonly container: string;
  readonly sinceTime?: string;
  /** Both by default. */
  readonly stream?: "stdout" | "stderr";
};

/** For a server without a Pod runner. */
export const noPodLogs: PodLogs = {
  open: () => Promise.reject(new ApiError("NotImplemented", "this server runs no Pods, so there are no logs")),
};

export interface ArtifactSource {
  /** Kinds with the subresource `artifacts`, which serves what their status mentions. */
  readonly kinds: readonly GroupKind[];
  /** Rejects with an `ArtifactError` for an unknown digest. */
  readonly read: (namespace: string, digest: string) => Promise<AsyncIterable<Uint8Array>>;
}

/** Logs of objects other than Pods. */
export interface LogSource {
  /** Kinds with the subresource `log`. */
  readonly kinds: readonly GroupKind[];
  /** The query parameter that selects one of an object's logs; `container` works as well. */
  readonly parameter: string;
  /** Requests may be `numbered`. */
  readonly numbersLines?: boolean;
  /** As in `PodLogs.open`; an empty `part` means the only one. Following ends when no more is expected. */
  open(object: KubeObject, part: string, request: LogRequest): Promise<AsyncIterable<Uint8Array>>;
}

/** For a server without a Pod runner. */
export const noPodSessions: PodSessions = {
  check: () => Promise.reject(refusal()),
  exec: () => Promise.reject(refusal()),
  attach: () => Promise.reject(refusal()),
  connect: () => Promise.reject(refusal()),
};

const refusal = () =>
  new ApiError("NotImplemented", "this server runs no Pods, so that there is nothing to connect to");
