import type { Duplex } from "node:stream";
import { Pod } from "#kernel/model/index.ts";
import { ApiChannel } from "./api-channel.ts";
import type { HttpClientConfig } from "./client-config.ts";
import { objectPath, withQuery } from "./request-path.ts";
import type { ExecEnd, ExecOptions } from "./exec-session.ts";

// Two-way streams into Pods over WebSockets, apart from `ApiClient`: only servers that run Pods have them, and few
// callers need them.

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

export interface PodStreams {
  /** Runs a program; returns its exit code. Rejects with `ApiError` if not started, `SlipwayError` if disconnected. */
  exec(pod: PodName, options: ExecOptions): Promise<ExecEnd>;
  /** A connection to a port of a Pod. If nothing listens there, the stream fails. Ending it ends both directions. */
  portForward(pod: PodName, port: number, options?: { readonly signal?: AbortSignal }): Promise<Duplex>;
  /** Ends everything with `client-closed`. */
  close(): void;
}

export function createPodStreams(config: HttpClientConfig): PodStreams {
  const channel = new ApiChannel(config);
  return {
    async exec(pod, options) {
      const { runExec } = await import("./exec-session.ts");
      return await runExec(channel, execPath(pod, options), options);
    },
    async portForward(pod, port, options = {}) {
      const { forwardedPort } = await import("./forwarded-port.ts");
      return await forwardedPort(channel, withQuery(pathOf(pod, "portforward"), { ports: port }), { port, ...options });
    },
    close: () => channel.close(),
  };
}

const pathOf = (pod: PodName, subresource: string): string => objectPath({ type: Pod, ...pod }, subresource);

function execPath(pod: PodName, { command, container, stdin, stdout, stderr, terminal }: ExecOptions): string {
  const flags = {
    container,
    stdin: stdin === undefined ? undefined : true,
    stdout: stdout === undefined ? undefined : true,
    stderr: stderr === undefined || terminal !== undefined ? undefined : true,
    tty: terminal === undefined ? undefined : true,
  };
  const words = command.map((word) => `command=${encodeURIComponent(word)}`).join("&");
  const path = withQuery(pathOf(pod, "exec"), flags);
  return `${path}${path.includes("?") ? "&" : "?"}${words}`;
}
