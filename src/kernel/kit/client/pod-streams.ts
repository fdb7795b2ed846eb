import type { Duplex, Writable } from "node:stream";
import { Pod } from "#kernel/model/index.ts";
import { ApiChannel } from "./api-channel.ts";
import type { HttpClientConfig } from "./client-config.ts";
import { objectPath, withQuery } from "./request-path.ts";

// Two-way streams into Pods over WebSockets, apart from `ApiClient`: only servers that run Pods have them, and few
// callers need them.

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** In characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface ExecOptions {
  /** No shell reads it. */
  readonly command: readonly string[];
  /** Default: the server's choice. May be a running init container. */
  readonly container?: string;
  /**
   * Read as fast as the program reads. Old protocols cannot signal its end: the program must know when it has read
   * enough.
   */
  readonly stdin?: AsyncIterable<Uint8Array>;
  /** Ended with the output, or destroyed when the connection breaks. Closing it ends the exec. */
  readonly stdout?: Writable;
  /** Empty with a terminal. */
  readonly stderr?: Writable;
  /** Gives the program a terminal, with its sizes. */
  readonly terminal?: AsyncIterable<TerminalSize>;
  /** Ends the connection; the program may continue. */
  readonly signal?: AbortSignal;
}

/** How a program in a container has ended. */
export interface ExecEnd {
  readonly exitCode: number;
}

export interface PodStreams {
  /**
   * Runs a program and returns its exit code. Rejects with an `ApiError` if it cannot be started, and with a
   * `SlipwayError` if the connection breaks, in which case the program may or may not have finished.
   */
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
