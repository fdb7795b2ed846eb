import type { Duplex } from "node:stream";
import type { KubeObject } from "#kernel/model/index.ts";
import type { Interaction } from "./interaction.ts";

/** What `pods/exec` and `pods/attach` ask for, besides a command. The container is one of the Pod's. */
export interface PodSessionRequest {
  readonly container: string;
  readonly stdin: boolean;
  /** A terminal of the command's own: then stdout has everything. */
  readonly terminal: boolean;
}

/**
 * Streams into Pods that run: the Pod runner has them, and the API server gives them to clients, neither of which knows the other. Refusals are
 * `ApiError`s, which say what the Pod is like.
 */
export interface PodSessions {
  /** Rejects when this cannot be done now: the container does not run, or has nothing of what is to be attached to. A moment later that may differ. */
  check(pod: KubeObject, request: PodSessionRequest, what: "exec" | "attach"): Promise<void>;
  /** Runs a command beside the container's own, init containers among them. It is killed when the container ends. */
  exec(pod: KubeObject, command: readonly string[], request: PodSessionRequest): Promise<Interaction>;
  /** The streams of the container itself, from now on. Killing it lets go of them. */
  attach(pod: KubeObject, request: PodSessionRequest): Promise<Interaction>;
  /** A TCP connection to a port of the Pod, once it is there. Rejects when nothing listens. */
  connect(pod: KubeObject, port: number, signal: AbortSignal): Promise<Duplex>;
}
