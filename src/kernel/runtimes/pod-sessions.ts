import type { Duplex } from "node:stream";
import type { KubeObject } from "#kernel/model/index.ts";
import type { Interaction } from "./interaction.ts";

/** The container is one of the Pod's. */
export interface PodSessionRequest {
  readonly container: string;
  readonly stdin: boolean;
  /** A terminal: stdout then has both outputs. */
  readonly terminal: boolean;
}

/** Streams into running Pods, from the Pod runner to the API server. Refusals are `ApiError`s. */
export interface PodSessions {
  /** Rejects if this is not possible now. */
  check(pod: KubeObject, request: PodSessionRequest, what: "exec" | "attach"): Promise<void>;
  /** Runs a command in a container. It is killed when the container ends. */
  exec(pod: KubeObject, command: readonly string[], request: PodSessionRequest): Promise<Interaction>;
  /** The container's own streams, from now on. Killing it only detaches. */
  attach(pod: KubeObject, request: PodSessionRequest): Promise<Interaction>;
  /** Rejects if nothing listens. */
  connect(pod: KubeObject, port: number, signal: AbortSignal): Promise<Duplex>;
}
